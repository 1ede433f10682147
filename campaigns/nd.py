"""Long random trials of GatherND and GatherTree, for `python -m campaigns`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gathercli
from tests import oracle, oracle_nd, random_calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.random_calls import Dice


def tuples(seed: int) -> str:
    """Draw a call of any version of GatherND, and ask the package and the oracle."""
    dice = random_calls.Dice(seed)
    op = dice.one_of(random_calls.TUPLE_ROWS)
    case = random_calls.any_case(op, dice)

    random_calls.assert_as_the_oracle_says(op, case)

    return _named(random_calls.outcome(lambda: random_calls.oracle_answer(op, case)))


def trees(seed: int) -> str:
    """Draw a call of GatherTree, and ask the package and the oracle."""
    tree = random_calls.any_tree(random_calls.Dice(seed))

    expected = random_calls.outcome(lambda: random_calls.oracle_tree(tree))

    got = random_calls.outcome(lambda: random_calls.gather_tree(tree))
    random_calls.assert_same_outcome(got, expected)
    return _named(expected)


def tuple_shapes(seed: int) -> str:
    """Draw partly known shapes for GatherND, and ask for the output's."""
    dice = random_calls.Dice(seed)
    op = dice.one_of(random_calls.TUPLE_ROWS)
    data, indices = random_calls.partly_known(dice), random_calls.partly_known(dice)
    if indices and dice.number(0, 3):
        indices[-1] = dice.number(0, 3)
    batch_dims = dice.one_of((0, 0, 0, 1, 1, 2, 3, -1))

    return _compared(
        lambda: oracle_nd.infer(op.full_name, data, indices, batch_dims),
        ("gather-nd", data, indices),
        batch_dims=batch_dims,
        version=op.id,
    )


def tree_shapes(seed: int) -> str:
    """Draw partly known shapes for GatherTree, and ask for the output's."""
    dice = random_calls.Dice(seed)
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

    answer = random_calls.outcome(lambda: oracle.text(infer()))

    texts = [oracle.text(shape) for shape in shapes]
    got = random_calls.outcome(lambda: str(gathercli.infer_shape(op, *texts, **attributes)))
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
