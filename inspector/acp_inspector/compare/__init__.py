"""Whether two journals mean the same."""
