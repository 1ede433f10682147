"""What the campaign of sanitizers draws; they themselves are for its own processes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from campaigns import sanitize
from gathercli.compute import native

if TYPE_CHECKING:
    from gathercli.compute.storage import AnyArray


@pytest.mark.skipif(native.fill is None, reason="built without the kernel in C")
def test_random_plans_of_tuples_of_each_size_are_done_and_refused() -> None:
    def fill(out: AnyArray, data: AnyArray, indices: AnyArray, plan: AnyArray, *rest: int) -> Any:
        size = int(plan[5]) if len(plan) > 5 else 0
        tried.add((size, False))
        answer = native.fill(out, data, indices, plan, *rest)  # type: ignore[misc]
        tried.add((size, True))
        return answer

    tried = set[tuple[int, bool]]()
    choose = random.Random(0)  # noqa: S311

    for _ in range(500):
        sanitize.attack(fill, choose)

    assert tried >= {(size, done) for size in (1, 2, 3, 4) for done in (False, True)}
