"""The filter language, used by breakpoints, tables and exports."""

__all__: list[str] = []
