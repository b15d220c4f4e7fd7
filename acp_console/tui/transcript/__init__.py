"""The transcript: a conversation of any length, of which only the visible rows are drawn."""
