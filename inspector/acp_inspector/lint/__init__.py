"""Rules that traffic has to keep, and the engine that holds it against them."""
