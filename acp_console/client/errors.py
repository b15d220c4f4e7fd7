"""What can go wrong between a client and its agent, beyond floor 1."""

from __future__ import annotations

from acp_protocol.errors import AcpError, RequestFailedError


class SignInRequiredError(AcpError):
    """The agent wants to know who its user is before it does anything."""

    def __init__(self, refusal: RequestFailedError, methods: tuple[str, ...]) -> None:
        ways = ", ".join(methods) or "nothing that it names"
        super().__init__(
            f"the agent asks you to sign in first ({refusal.message}); "
            f"it offers: {ways}. Do so with its own command and try again"
        )
        self.methods = methods
        """Names of the ways that the agent offers; untrusted."""
