"""The shapes of the wire, made from the published schemas, and the table of methods.

Wire names stay as the spec spells them, here and nowhere else. Importing a shape costs no
framework: pydantic enters only when `validate` checks something for the first time.
"""

__all__: list[str] = []
