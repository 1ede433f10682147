"""How many cases a property draws, and whether they are the same in each run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "gathercli")

settings.register_profile(
    "gathercli",
    derandomize=True,  # campaigns are random
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine makes no example wrong
)
settings.register_profile("random", settings.get_profile("gathercli"), derandomize=False)
settings.load_profile(PROFILE)


def drawn(cases: int, like: settings | None = None) -> settings:
    """Let a property draw so many cases."""
    return settings(like or settings.get_profile(PROFILE), max_examples=cases)
