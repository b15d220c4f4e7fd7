"""An agent that plays what a file says, faults included, so that clients can be tested with it.

It writes its bytes by itself: what has to be broken on purpose must not go through anything that
holds to the rules.
"""

__all__: list[str] = []
