"""Files that users write, and where they are: for all programs that read them."""
