"""How the agent is started: the command line, its flags, and the server."""
