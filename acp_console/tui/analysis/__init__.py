"""The analysis tabs: findings, state, times, counts."""

__all__: list[str] = []
