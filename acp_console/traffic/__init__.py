"""Rows over a stream of frames: filtered, marked, compared, intercepted. Without Textual."""
