"""From the text of a scenario to what it means; what is wrong with it is told with its line."""

__all__: list[str] = []
