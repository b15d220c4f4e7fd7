"""Stands between an agent and its model service: records the HTTP exchanges, and replays them."""

__all__: list[str] = []
