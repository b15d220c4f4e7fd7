"""A full ACP agent that stands alone."""

__all__: list[str] = []
