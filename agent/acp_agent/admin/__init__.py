"""A look at a running agent from outside, for whoever has its token; imported only where wanted."""

__all__: list[str] = []
