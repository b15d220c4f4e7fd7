"""Between a client and its agent: every byte goes on as it came, and is recorded beside the way."""

__all__: list[str] = []
