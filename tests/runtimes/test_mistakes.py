"""What releases of runtimes are known to do otherwise than rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.compute.tensor import Tensor
from gathercli.errors import GatherError
from gathercli.frameworks import every_framework, framework
from gathercli.ops import OPERATORS
from gathercli.runtimes import declared
from gathercli.runtimes.calls import WAYS
from gathercli.runtimes.declared import (
    FACTS,
    NAMED_FIELDS,
    NAMED_TYPES,
    known_mistake,
    mistakes_of,
    runtimes,
)
from gathercli.spec.dtypes import dtype
from gathercli.spec.rules import statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gathercli.frameworks import FrameworkFile

    Declare = Callable[..., None]

# `dtype` refuses a fill that the type of the data does not hold.
RULES: Final = {"", *statements()}
PROBLEMS: Final = {"", "refuses", "dies", "hangs", "unsteady"}

NUMBERS: Final = Tensor(dtype("uint32"), np.array([2**31, 1], np.uint32))


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Declare]:
    """Return what replaces the mistakes of NumPy by one with such fields."""

    def replace(**fields: Any) -> None:
        file = framework("numpy")._replace(mistakes=[{"what": "errs", **fields}])
        monkeypatch.setattr(declared, "framework", lambda _: file)

    mistakes_of.cache_clear()
    yield replace
    mistakes_of.cache_clear()


@pytest.mark.parametrize("of", every_framework(), ids=lambda of: of.name)
def test_a_mistake_names_what_exists(of: FrameworkFile) -> None:
    rows = [row.op for row in of.rows] + [op for op in OPERATORS if op.framework == of.name]
    inputs = {each.name for op in rows for each in op.inputs}
    names = {
        "row": {op.name for op in rows},
        "way": {"", *WAYS, *(row.way for row in of.ways)},
        "refused": RULES,
        "problem": PROBLEMS,
    }
    every = [each for runtime in runtimes() for each in mistakes_of(of.name, runtime)]
    named = [(key, {*values}) for each in every for key, values in each.names.items()]

    assert len(every) == len(of.mistakes)
    assert all(values and values <= names[key] for key, values in named if key in NAMED_FIELDS)
    assert {key for key, _ in named if key in NAMED_TYPES} <= inputs


def test_a_fact_is_one_of_a_mistake() -> None:
    said = {
        fact for of in every_framework() for each in of.mistakes for fact in each.get("where", ())
    }

    assert {each.removeprefix("not ") for each in said} == {*FACTS}


@pytest.mark.parametrize(
    ("fields", "unknown", "error"),
    [
        ({"when": "True"}, "when", KeyError),
        ({"where": ["an odd index"]}, "an odd index", KeyError),
        ({"where": ["not an odd index"]}, "an odd index", KeyError),
        ({"data": "int33"}, "int33", GatherError),
    ],
)
def test_a_mistake_with_an_unknown_word_is_refused(
    fields: dict[str, Any], unknown: str, error: type[Exception], declare: Declare
) -> None:
    declare(**fields)

    with pytest.raises(error, match=unknown):
        mistakes_of("numpy", "numpy")


@pytest.mark.parametrize(
    ("fields", "is_known"),
    [
        ({}, True),
        ({"row": "take"}, True),
        ({"row": ["getitem", "take"]}, True),
        ({"row": "getitem"}, False),
        ({"refused": ""}, True),
        ({"refused": "index-range"}, False),
        ({"problem": ["dies", "refuses"]}, True),
        ({"way": "jitted"}, False),
        ({"indices": "int8 uint32"}, True),
        ({"indices": "int8"}, False),
        ({"step_ids": "uint32"}, False),
        ({"where": ["1-D indices", "an index with bit 31", "an index beyond int32"]}, True),
        ({"where": ["1-D indices", "an index beyond int64"]}, False),
        ({"where": ["not a negative index", "not empty output", "not empty data"]}, True),
        ({"where": ["not 1-D indices"]}, False),
        ({"row": "take", "where": ["no axis"]}, False),
    ],
)
def test_a_mistake_is_of_the_calls_that_have_all_its_words(
    fields: dict[str, Any], is_known: bool, declare: Declare
) -> None:
    declare(**fields)

    known = known_mistake(
        mistakes_of("numpy", "numpy"),
        {"indices": NUMBERS},
        None,
        row="take",
        way="",
        refused="",
        problem="refuses",
        axis=0,
        batch_dims=0,
    )

    assert bool(known) is is_known
