"""What it costs, measured as ratios in one run against the floor of the same machine.

One module a measure; each has `measure() -> Section`. Nothing here asserts a time: a machine that
is busy is slow, and that is no fault of the code.
"""

__all__: list[str] = []
