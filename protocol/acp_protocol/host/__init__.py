"""What either side needs of the machine: processes, files, terminals, text made safe."""

__all__: list[str] = []
