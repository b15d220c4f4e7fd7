"""The screens: the only package that imports Textual."""

from acp_console.tui.textual_fixes import set_frame_rate

FPS = 200
"""How often Textual may draw a second. A key's echo waits for its next frame, and what draws a lot,
the transcript, paces its own."""

set_frame_rate(FPS)
