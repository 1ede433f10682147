"""What inference says of partly known shapes: a line a case of ``inference.txt``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

import gathercli
from gathercli import GatherError, infer_shape
from gathercli.errors import UsageError
from gathercli.frameworks.versions import find
from tests import oracle, oracle_nd

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """The shapes and attributes of a call, and its shape or the rule that refuses it."""

    version: str
    family: str
    shapes: list[str]
    attributes: dict[str, Any]
    answer: str


def _cases() -> list[Any]:
    cases = []
    for line in Path(__file__).with_name("inference.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            versions, call, answer, sentence = line.split(" | ")
            family, *words = call.split()
            pairs = [word.split("=") for word in words if "=" in word]
            attributes = {name: json.loads(value) for name, value in pairs}
            shapes = [word for word in words if "=" not in word]
            for version in versions.split():
                case = Case(version, family, shapes, attributes, answer)
                cases.append(pytest.param(case, id=f"{family} {version}: {sentence}, {shapes}"))
    return cases


CASES: Final = _cases()


def _said(infer: Callable[[], object]) -> str:
    try:
        return str(infer())
    except (oracle.Refused, GatherError) as refusal:
        return refusal.rule


@pytest.mark.parametrize("case", CASES)
def test_inference_says_as_much_as_the_shapes_say(case: Case) -> None:
    def infer() -> object:
        return infer_shape(case.family, *case.shapes, version=case.version, **case.attributes)

    assert _said(infer) == case.answer


@pytest.mark.parametrize("case", CASES)
def test_the_oracle_infers_as_much(case: Case) -> None:
    shapes = [_dimensions(shape) for shape in case.shapes]
    axis, batch_dims = case.attributes.get("axis"), case.attributes.get("batch_dims", 0)
    name = find(case.version, case.family).op.full_name

    def infer() -> str:
        if case.family == "gather-tree":
            return oracle.text(oracle_nd.infer_tree(*shapes))
        data, indices = shapes
        if case.family == "gather-nd":
            return oracle.text(oracle_nd.infer(name, data, indices, batch_dims))
        known_axis = "unknown" if axis == "?" else axis
        return oracle.text(oracle.infer(name, data, indices, known_axis, batch_dims))

    if isinstance(axis, list):  # the oracle takes numbers
        return
    assert _said(infer) == case.answer


def _dimensions(shape: str) -> oracle.Dimensions:
    if shape == "[...]":
        return None
    words = json.loads(shape) if '"' in shape else [d for d in shape[1:-1].split(",") if d]
    return [_dimension(word) for word in words]


def _dimension(word: str | int) -> oracle.Dimension:
    if isinstance(word, int) or word.isdigit():
        return int(word)
    if word == "?":
        return oracle.UNKNOWN
    low, dots, high = word.partition("..")
    return (int(low or 0), int(high) if high else None) if dots else word


def test_shapes_of_sizes_give_a_tuple_of_sizes() -> None:
    assert infer_shape("gather", (2, 5), (2, 3), axis=1, batch_dims=1) == (2, 3)


def test_none_and_minus_one_are_unknown_sizes() -> None:
    assert str(infer_shape("gather", (None, 5), (-1, 3), axis=1)) == "[?,?,3]"


def test_the_default_version_of_gather_is_openvinos_newest() -> None:
    assert str(infer_shape("gather", "[2,5]", "[2]", axis=1, batch_dims=1)) == "[2]"


def test_the_default_version_of_gather_elements_narrows() -> None:
    assert str(infer_shape("gather_elements", "[4,N]", "[2,?]", axis=0)) == "[2,N]"


def test_an_operator_that_does_not_exist_is_refused() -> None:
    with pytest.raises(GatherError) as caught:
        infer_shape("gathr", "[2]", "[2]")

    assert caught.value.message == (
        "no operator `gathr`: expected gather, gather-elements, gather-nd or gather-tree"
    )
    assert (caught.value.hint, caught.value.status) == ("did you mean `gather`?", 2)


@pytest.mark.parametrize("shapes", [("[2,3]", "[2]", "[]"), ("[2,3]", "[2]", "[]", "[]", "[]")])
def test_an_operator_takes_a_shape_for_each_of_its_inputs(shapes: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refusal:
        infer_shape("gather-tree", *shapes)

    assert refusal.value.message == (
        f"gather-tree takes 4 shapes, not {len(shapes)}: "
        "expected step_ids, parent_ids, max_seq_len and end_token"
    )


def test_an_operator_takes_each_of_its_inputs_and_no_other() -> None:
    pytest.importorskip("gathercli.explain")
    with pytest.raises(UsageError, match="gather takes 2 inputs, not 3: expected data and indices"):
        gathercli.explain("gather", [1, 2], [0], [0])
