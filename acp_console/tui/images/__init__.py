"""Images in the cells of a terminal: what it takes, what is drawn, and what is sent to it.

Their bytes come from agents and are untrusted: they are decoded within limits, and what the
terminal gets is encoded anew. Pillow is imported with the first image only.
"""
