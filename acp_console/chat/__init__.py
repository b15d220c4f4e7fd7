"""An agent that runs, and the sessions in it. Without Textual."""
