"""The screens: the only package that imports Textual."""

import importlib
import os

FPS = 200
"""How often Textual may draw a second. A key's echo waits for its next frame, and what draws a lot,
the transcript, paces its own."""

if "TEXTUAL_FPS" not in os.environ:
    # Textual reads it once; agents need not have it in their environment.
    os.environ["TEXTUAL_FPS"] = str(FPS)
    importlib.import_module("textual.constants")
    del os.environ["TEXTUAL_FPS"]
