"""How frames get from one side to the other."""

from acp_protocol.transport.base import Transport

__all__ = ["Transport"]
