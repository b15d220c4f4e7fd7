"""What frames mean: folds over a journal that never fail."""

__all__: list[str] = []
