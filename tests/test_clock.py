"""No test leans on the clock: on a busy machine each takes longer and says the same."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final, NamedTuple

from hypothesis import HealthCheck, settings

TESTS: Final = Path(__file__).parent
FILES: Final = [*TESTS.rglob("*.py")]
WAIT_FOR_WHAT_HANGS: Final = {"processes.py", "batch/test_batch_run.py"}
"""Files that look at the time to end what hangs."""


class Clock(NamedTuple):
    """What a file says of time: the names it passes, limits that are numbers, looks at a clock."""

    names: set[str | None]
    limits: list[str]
    health: list[str]
    looks: list[str]


def clock_of(path: Path) -> Clock:
    """Read what a file says of time."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    keywords = [keyword for call in calls for keyword in call.keywords]
    limits = [ast.unparse(each.value) for each in keywords if each.arg == "timeout"]
    health = [ast.unparse(each.value) for each in keywords if each.arg == "suppress_health_check"]
    functions = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    looks = [ast.unparse(each) for each in functions if ast.unparse(each.value) == "time"]
    return Clock({each.arg for each in keywords}, limits, health, looks)


def test_a_property_has_no_deadline_and_may_draw_slowly() -> None:
    profile = settings()

    assert profile.deadline is None
    assert HealthCheck.too_slow in profile.suppress_health_check


def test_every_file_leaves_time_to_one_place() -> None:
    clocks = {str(path.relative_to(TESTS)): clock_of(path) for path in FILES}

    assert {name for name, clock in clocks.items() if "deadline" in clock.names} == {"cases.py"}
    assert not [limit for clock in clocks.values() for limit in clock.limits if limit.isdigit()]
    assert not [
        checks for clock in clocks.values() for checks in clock.health if "too_slow" not in checks
    ]  # it replaces the list of the profile
    assert {name for name, clock in clocks.items() if clock.looks} == WAIT_FOR_WHAT_HANGS
