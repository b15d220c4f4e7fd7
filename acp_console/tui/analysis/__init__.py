"""What the frames mean: findings, state, times, counts."""

__all__: list[str] = []
