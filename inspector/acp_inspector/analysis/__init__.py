"""Analysis of frames: folds over a journal that never raise."""

__all__: list[str] = []
