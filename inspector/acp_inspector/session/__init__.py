"""What has happened in a connection: exchanges, sessions, turns and their items."""
