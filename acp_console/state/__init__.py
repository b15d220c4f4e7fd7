"""The state behind the screens, without Textual."""

__all__: list[str] = []
