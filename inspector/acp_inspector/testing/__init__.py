"""Fixtures and the pytest plugin for people who test their agent or client."""
