"""The suite for clients."""
