"""Text and tables that the command line and the screens share; knows neither click nor Textual."""

__all__: list[str] = []
