"""Which agents there are, and how they are started. Without Textual."""
