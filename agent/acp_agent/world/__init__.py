"""What a session works on: files, terminals and forms."""
