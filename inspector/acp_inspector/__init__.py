"""Everything that looks at traffic: journal, recording, proxy, analysis, replay."""

__all__ = ["analysis", "journal", "proxy", "recording", "replay"]
