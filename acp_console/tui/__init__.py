"""The screens: the only rooms that know Textual."""

__all__: list[str] = []
