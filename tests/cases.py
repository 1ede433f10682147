"""How many cases a property draws: a third where they are the same in each run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "gathercli")

settings.register_profile(
    "gathercli",
    derandomize=True,  # campaigns are random
    max_examples=33,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine makes no example wrong
)
settings.register_profile(
    "random", settings.get_profile("gathercli"), derandomize=False, max_examples=100
)
settings.load_profile(PROFILE)


def drawn(cases: int, like: settings | None = None) -> settings:
    """Let a property draw so many new cases in the profile `random`, and a third in each run."""
    number = cases if PROFILE == "random" else -(-cases // 3)
    return settings(like or settings.get_profile(PROFILE), max_examples=number)
