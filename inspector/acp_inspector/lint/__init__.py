"""Rules for ACP traffic, and the engine that checks traffic against them."""
