"""Records that are quick to define are like those of `typing` and `enum`."""

from __future__ import annotations

import copy
import enum
import pickle
import typing
from typing import Any

import pytest

from gathercli import records


class Quick(records.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    name: str = ""

    def swapped(self) -> Quick:
        return Quick(self.y, self.x, self.name)


class Usual(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    name: str = ""

    def swapped(self) -> Usual:
        return Usual(self.y, self.x, self.name)


KINDS: Any = (Quick, Usual)


def test_fields_are_given_by_position_by_name_or_by_default() -> None:
    for kind in KINDS:
        values = [kind(1), kind(1, 5), kind(y=3, x=1), kind(1, name="a"), kind(*[1, 2, "b"])]

        assert values == [(1, 2, ""), (1, 5, ""), (1, 3, ""), (1, 2, "a"), (1, 2, "b")]
        assert kind._fields == ("x", "y", "name")
        assert kind._field_defaults == {"y": 2, "name": ""}


def test_a_record_has_its_attributes_and_methods_and_no_others() -> None:
    for kind in KINDS:
        record = kind(1, name="a")

        assert (record.x, record.y, record.name) == (1, 2, "a")
        assert record.swapped() == kind(2, 1, "a")
        assert record._replace(y=9) == (1, 9, "a")
        assert record._asdict() == {"x": 1, "y": 2, "name": "a"}
        assert repr(record).endswith("(x=1, y=2, name='a')")
        with pytest.raises(AttributeError):
            record.x = 5
        with pytest.raises(AttributeError):
            record.other = 5


def test_a_record_is_a_tuple_with_its_equality_its_hash_and_its_patterns() -> None:
    for kind in KINDS:
        match kind(1):
            case (1, y, "") if isinstance(kind(1), tuple):
                assert y == 2
        match kind(1):
            case Quick(x=1, y=2) | Usual(1, 2):
                pass
            case _:
                pytest.fail("no pattern matches")
        assert hash(kind(1)) == hash((1, 2, ""))
        assert max(kind(1), kind(2)) == kind(2)


def test_a_record_is_copied_and_pickled() -> None:
    for kind in KINDS:
        record = kind(1, 5, "a")

        packed = pickle.dumps(record)
        others = [copy.copy(record), copy.deepcopy(record), pickle.loads(packed)]  # noqa: S301

        assert all(type(each) is kind and each == record for each in others)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, "a", 4), {}), ((1,), {"z": 0}), ((1,), {"x": 0}), ((), {"y": 1})],
)
def test_missing_and_unknown_fields_are_refused(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for kind in KINDS:
        with pytest.raises(TypeError):
            kind(*values, **named)
    with pytest.raises((TypeError, ValueError)):
        KINDS[0](1)._replace(z=0)


# enumerations


class QuickWay(records.Enum):
    """What to do."""

    WRAP = "wrap"
    CLAMP = "clamp"

    @property
    def done(self) -> str:
        return f"{self.value}ed"


class UsualWay(enum.Enum):
    """What to do."""

    WRAP = "wrap"
    CLAMP = "clamp"

    @property
    def done(self) -> str:
        return f"{self.value}ed"


WAYS: Any = (QuickWay, UsualWay)


def test_members_have_a_name_a_value_and_the_methods_of_their_class() -> None:
    for ways in WAYS:
        assert [(way.name, way.value) for way in ways] == [("WRAP", "wrap"), ("CLAMP", "clamp")]
        assert ways.CLAMP.done == "clamped"
        assert str(ways.WRAP).endswith("Way.WRAP")
        assert repr(ways.WRAP).endswith("Way.WRAP: 'wrap'>")


def test_a_value_has_one_member_and_any_other_none() -> None:
    for ways in WAYS:
        assert ways("wrap") is ways.WRAP
        assert {ways.WRAP: 1}[ways("wrap")] == 1
        assert ways.WRAP != "wrap"
        assert isinstance(ways.WRAP, ways)
        with pytest.raises(ValueError, match=r"'zero' is not a valid \w+Way"):
            ways("zero")


def test_a_copy_of_a_member_is_the_member() -> None:
    for ways in WAYS:
        way = ways.WRAP

        packed = pickle.dumps(way)
        others = [copy.copy(way), copy.deepcopy(way), pickle.loads(packed)]  # noqa: S301

        assert all(each is way for each in others)
