"""Long random trials of GatherND and GatherTree, for `python -m tests.campaign`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gathercli
from tests import oracle, oracle_nd, test_laws, test_laws_nd

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.test_laws import Dice


def tuples(seed: int) -> str:
    """Draw a call of any version of GatherND, and ask the package and the oracle."""
    dice = test_laws.Dice(seed)
    row = dice.one_of(test_laws_nd.ROWS)
    case = test_laws_nd.any_case(row, dice)

    test_laws_nd.assert_as_the_oracle_says(row, case)

    return _named(test_laws.outcome(lambda: test_laws_nd.expected(row, case)))


def trees(seed: int) -> str:
    """Draw a call of GatherTree, and ask the package and the oracle."""
    tree = test_laws_nd.any_tree(test_laws.Dice(seed))

    expected = test_laws.outcome(lambda: test_laws_nd.expected_tree(tree))

    got = test_laws.outcome(lambda: test_laws_nd.gather_tree(tree))
    test_laws.assert_same_outcome(got, expected)
    return _named(expected)


def tuple_shapes(seed: int) -> str:
    """Draw partly known shapes for GatherND, and ask for the output's."""
    dice = test_laws.Dice(seed)
    row = dice.one_of(test_laws_nd.ROWS)
    data, indices = test_laws.partly_known(dice), test_laws.partly_known(dice)
    if indices and dice.number(0, 3):
        indices[-1] = dice.number(0, 3)
    batch_dims = dice.one_of((0, 0, 0, 1, 1, 2, 3, -1))

    return _compared(
        lambda: oracle_nd.infer(row, data, indices, batch_dims),
        ("gather-nd", data, indices),
        batch_dims=batch_dims,
        version=test_laws_nd.version_of(row),
    )


def tree_shapes(seed: int) -> str:
    """Draw partly known shapes for GatherTree, and ask for the output's."""
    dice = test_laws.Dice(seed)
    steps, parents = _of_rank(3, dice), _of_rank(3, dice)
    lengths, end = _of_rank(1, dice), _of_rank(0, dice)

    return _compared(
        lambda: oracle_nd.infer_tree(steps, parents, lengths, end),
        ("gather-tree", steps, parents, lengths, end),
    )


def _of_rank(rank: int, dice: Dice) -> oracle.Dimensions:
    """Draw a shape, of this rank nine times of ten if any is known."""
    if dice.number(0, 4) == 0:
        return None
    sizes: tuple[oracle.Dimension, ...] = (2, 2, 3, "N", "M", (2, None), (1, 3), oracle.UNKNOWN)
    rank = rank if dice.number(0, 9) else dice.number(0, 4)
    return [dice.one_of(sizes) for _ in range(rank)]


def _compared(
    infer: Callable[[], oracle.Dimensions],
    call: tuple[str, *tuple[oracle.Dimensions, ...]],
    **attributes: Any,
) -> str:
    op, *shapes = call

    answer = test_laws.outcome(lambda: oracle.text(infer()))

    texts = [oracle.text(shape) for shape in shapes]
    got = test_laws.outcome(lambda: str(gathercli.infer_shape(op, *texts, **attributes)))
    assert got == answer
    return "answered" if answer.startswith("[") else answer


def _named(outcome: object) -> str:
    return outcome if isinstance(outcome, str) else "answered"


CAMPAIGNS: Final[dict[str, Callable[[int], str]]] = {
    "tuples": tuples,
    "tuple-shapes": tuple_shapes,
    "trees": trees,
    "tree-shapes": tree_shapes,
}
