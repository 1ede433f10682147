"""No test leans on the clock: on a busy machine each takes longer and says the same."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS: Final = Path(__file__).parent
COMMANDS: Final = {"benchmarks", "campaign", "fuzz", "mutation"}
FILES: Final = [
    path for path in TESTS.rglob("*.py") if COMMANDS.isdisjoint(path.relative_to(TESTS).parts)
]
WAIT_FOR_WHAT_HANGS: Final = {"processes.py", "test_batch.py"}
"""Files that look at the time to end what hangs."""


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_a_property_has_no_deadline_and_may_draw_slowly() -> None:
    found = settings()

    assert found.deadline is None
    assert HealthCheck.too_slow in found.suppress_health_check


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_file_leaves_time_to_one_place(path: Path) -> None:
    given = {
        (keyword.arg, ast.unparse(keyword.value))
        for call in calls(path)
        for keyword in call.keywords
    }
    looks = [ast.unparse(call) for call in calls(path) if ast.unparse(call.func)[:5] == "time."]

    assert path.name == "conftest.py" or "deadline" not in {name for name, _ in given}
    assert not [value for name, value in given if name == "timeout" and value.isdigit()]
    assert not [
        value
        for name, value in given
        if name == "suppress_health_check" and "too_slow" not in value
    ]  # it replaces the list of the profile
    assert path.name in WAIT_FOR_WHAT_HANGS or not looks
