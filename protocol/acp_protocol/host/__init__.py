"""What either side needs of the machine: processes, files, terminals, and text that is safe to show."""

__all__ = ["files", "processes", "text"]
