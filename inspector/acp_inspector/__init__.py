"""Everything that looks at traffic: journal, recording, proxy, analysis, replay."""

__all__: list[str] = []
