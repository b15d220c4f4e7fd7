"""How a published JSON schema becomes Python: read, laid out as objects, spelled as source."""
