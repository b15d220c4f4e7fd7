"""The cases for clients, one module for each subject or persona."""
