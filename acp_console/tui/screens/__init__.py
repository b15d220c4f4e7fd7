"""What fills the terminal: one module and one style sheet a screen."""

__all__: list[str] = []
