"""The suite for agents."""
