"""What the screens show, without Textual."""

__all__: list[str] = []
