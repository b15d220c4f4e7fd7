"""What stays between two runs of the console. Without Textual."""
