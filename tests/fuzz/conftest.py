"""How hard the properties are tried: as long as any other test, or as long as `make fuzz` wants."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

if examples := os.environ.get("FUZZ_EXAMPLES"):
    settings.register_profile(
        "long",
        max_examples=int(examples),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile("long")
