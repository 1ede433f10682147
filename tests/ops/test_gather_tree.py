"""Random calls of GatherTree beside the oracle, and the laws that they obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import gathercli
from tests import oracle, oracle_nd
from tests.random_calls import (
    TREE_TYPES,
    Dice,
    Tree,
    amply,
    any_tree,
    as_type,
    assert_same,
    assert_same_outcome,
    blurred,
    gather_tree,
    legal_tree,
    moderately,
    oracle_tree,
    outcome,
    seeds,
)


@amply
@given(seed=seeds)
def test_a_tree_is_gathered_or_refused_as_by_the_oracle(seed: int) -> None:
    tree = any_tree(Dice(seed))

    assert_same_outcome(outcome(lambda: gather_tree(tree)), outcome(lambda: oracle_tree(tree)))


@pytest.mark.parametrize("type_name", TREE_TYPES)
@moderately
@given(seed=seeds)
def test_every_numeric_type_gives_the_same_tree(type_name: str, seed: int) -> None:
    tree = legal_tree(Dice(seed), type_name)
    wide = Tree(*(as_type(array, "int64") for array in tree.inputs))

    assert_same(as_type(gather_tree(tree), "int64"), gather_tree(wide))


@moderately
@given(seed=seeds)
def test_a_batch_of_trees_is_the_stack_of_single_ones(seed: int) -> None:
    tree = legal_tree(Dice(seed), "int64")
    whole = gather_tree(tree)

    for batch in range(tree.step_ids.shape[1]):
        one = slice(batch, batch + 1)
        single = Tree(
            tree.step_ids[:, one], tree.parent_ids[:, one], tree.max_seq_len[one], tree.end_token
        )
        assert_same(gather_tree(single), whole[:, one].copy())


@moderately
@given(seed=seeds)
def test_beams_that_are_their_own_parents_stay_what_they_are(seed: int) -> None:
    dice = Dice(seed)
    x = dice.array((dice.number(0, 4), dice.number(0, 3), dice.number(1, 4)), "int64")
    own = np.broadcast_to(np.arange(x.shape[2]), x.shape)
    end = np.int64(0) if not (x == 0).any() else x.max() + 1

    got = gather_tree(Tree(x, own, np.full(x.shape[1], len(x)), np.asarray(end)))

    assert_same(got, x)


@moderately
@given(seed=seeds)
def test_a_tree_without_end_tokens_is_gather_elements_by_the_beams_followed_back(seed: int) -> None:
    dice = Dice(seed)
    tree = legal_tree(dice, "int64")
    steps, parents = tree.step_ids, tree.parent_ids
    full = replace(
        tree,
        parent_ids=parents % max(1, steps.shape[2]),
        max_seq_len=np.full(steps.shape[1], len(steps)),
        end_token=np.array(-1),
    )
    beams = np.empty_like(steps)
    at = np.broadcast_to(np.arange(steps.shape[2]), steps.shape[1:])
    for step in reversed(range(len(steps))):
        beams[step] = at
        at = np.take_along_axis(full.parent_ids[step], at, axis=1)

    by_beams = gathercli.gather_elements(steps, beams, axis=2)

    assert_same(gather_tree(full), by_beams)


@moderately
@given(seed=seeds)
def test_behind_the_first_end_token_and_the_length_all_is_the_end_token(seed: int) -> None:
    tree = legal_tree(Dice(seed), "int64")
    got = gather_tree(tree)

    ended = np.maximum.accumulate(got == tree.end_token, axis=0)
    beyond = np.arange(len(got))[:, None] >= tree.max_seq_len
    np.testing.assert_array_equal(got == tree.end_token, ended)
    assert (got[beyond] == tree.end_token).all()


@moderately
@given(seed=seeds)
def test_the_shape_of_a_tree_inferred_from_partly_known_shapes_admits_that_of_the_run(
    seed: int,
) -> None:
    dice = Dice(seed)
    tree = legal_tree(dice, "int64")
    shapes = [blurred(array.shape, dice) for array in tree.inputs]

    inferred = gathercli.infer_shape("gather-tree", *map(oracle.text, shapes))

    steps, parents, lengths, end = shapes
    answer = oracle_nd.infer_tree(steps, parents, lengths, end)
    symbols = {f"S{n}": n for n in range(300)}
    assert str(inferred) == oracle.text(answer)
    assert oracle.admits(answer, gather_tree(tree).shape, symbols)
