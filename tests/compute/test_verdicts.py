"""Verdicts on indices beside those of plain loops."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gathercli.compute import check
from gathercli.ops import OPERATORS
from tests import oracle, oracle_nd

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


VERSIONS = oracle.VERSIONS | oracle_nd.VERSIONS


def expected(
    op: Any, sizes: list[int], indices: oracle.Array, negative: str, outside: str
) -> list[Any]:
    """List illegal indices one by one, with what the oracle makes of each.

    Each counts along the one axis, or that of its place in a tuple.
    """
    version = VERSIONS[op.full_name]
    attributes = oracle.Attributes(negative=negative, out_of_range=outside)
    found = []
    for at in oracle.coordinates(indices.shape):
        k, axis = int(indices[at]), at[-1] if op.tuples else 0
        s = sizes[axis]
        low = -s if version.signed and negative != "error" else 0
        if low <= k < s:
            continue
        one = np.array([k], indices.dtype)
        try:
            if isinstance(version, oracle_nd.Version):
                place = oracle_nd.positions(version, [s], one, attributes)[0,]
            else:
                place = oracle.picked(version, s, one, attributes)[0,]
        except oracle.Refused:
            does = "refused"
        else:
            wrapped = -s <= k < 0 and (
                negative == "wrap" or (negative == "spec" and version.signed)
            )
            how = getattr(version, "outside", "error") if outside == "spec" else outside
            moved = {"clamp": "clamped", "wrap": "wrapped"}.get(how, "")
            does = "zero-filled" if place is None else "counted from the end" if wrapped else moved
        found.append({"at": list(at), "index": k, "does": does})
        if len(sizes) > 1:
            found[-1] |= {"axis": axis, "legal": [low, s - 1] if s else None}
    return found


@pytest.mark.no_cover  # thousands of runs of what others cover
@pytest.mark.parametrize("op", [op for op in OPERATORS if op.full_name in VERSIONS], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_list_is_that_of_plain_loops(
    op: Any, seed: int, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gathercli.compute.verdicts.BLOCK_INDICES", 5)
    monkeypatch.setattr(check, "BLOCK_INDICES", 5)
    monkeypatch.setattr(check, "LEAST_SHARED_BLOCKS", 1)
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 3
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    s = int(rng.integers(0, 5))
    sizes = [s, *(int(n) for n in rng.integers(0, 5, shape[-1] - 1))] if op.tuples else [s]
    held = "<i8" if seed % 2 else ">i8" if op.tuples else ">i4"
    indices = rng.integers(-2 * s - 2, 2 * s + 3, shape).astype(held)
    if seed == 5:
        indices.reshape(-1)[:2] = [-(2**63), 2**63 - 1][: indices.size]
    order: Any = "F" if seed % 3 else "C"
    np.save(folder / "i.npy", np.asarray(indices, order=order))
    np.save(folder / "d.npy", np.zeros(sizes if op.tuples else (s, *shape[1:])))
    axis = [] if op.tuples else ["-a", "0"]
    policies = itertools.product(
        ("spec", "wrap", "error"), ("spec", "error", "zero", "clamp", "wrap")
    )
    for number, (negative, outside) in enumerate(policies):
        if seed != 5 and (number + seed // 2) % 3:
            continue  # two other seeds have these policies, of another rank and type
        options = ["--negative", negative, "--out-of-range", outside]
        words = ["d.npy", "i.npy", "-V", op.id, *axis, *options]
        ran = run("check", op.family, *words, "-f", "json", "--all", "-j", "2")
        found = json.loads(ran.out)
        wanted = expected(op, sizes, indices, negative, outside)
        assert found["illegal"] == {"count": len(wanted), "shown": wanted}
        assert ran.status == int(any(x["does"] in ("refused", "zero-filled") for x in wanted))
        refused = run(op.family, *words, "-q", "--json-errors")
        (mine,) = [each for each in found["verdicts"] if each["version"] == op.full_name]
        assert (mine["verdict"] == "refuses") == (refused.status != 0)
        if refused.status:
            error = json.loads(refused.err)
            assert [mine[key] for key in ("rule", "count", "index", "message")] == [
                error[key] for key in ("rule", "count", "value", "error")
            ]
            assert mine["at"] == json.loads(error["where"])


def illegal_parents(parents: oracle.Array, lengths: list[int]) -> list[Any]:
    """List the parents that are used and name no beam, one by one."""
    steps, batches, beams = parents.shape
    found = set()
    for b, w in itertools.product(range(batches), range(beams)):
        beam = w
        for t in range(min(lengths[b], steps) - 1, 0, -1):
            k = int(parents[t, b, beam])
            if not 0 <= k < beams:
                found.add((t, b, beam))
                break
            beam = k
    return [{"at": list(at), "index": int(parents[at]), "does": "refused"} for at in sorted(found)]


@pytest.mark.parametrize("seed", range(12))
def test_the_parents_that_are_listed_are_those_that_plain_loops_use(
    seed: int, run: Run, folder: Path
) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, 3))
    parents = rng.integers(-(seed % 2), shape[2] + seed % 3, shape)
    lengths = [int(n) for n in rng.integers(-1, shape[0] + 2, shape[1])]
    np.save(folder / "s.npy", np.zeros(shape, np.int64))
    np.save(folder / "p.npy", parents)
    words = ["s.npy", "p.npy", str(lengths).replace(" ", ""), "9"]

    ran = run("check", "gather-tree", *words, "-f", "json", "--all")

    answer, wanted = json.loads(ran.out), illegal_parents(parents, lengths)
    assert answer["illegal"] == {"count": len(wanted), "shown": wanted}
    assert ran.status == bool(wanted)
    (verdict,) = answer["verdicts"]
    refused = run("gather-tree", *words, "--json-errors")
    assert (verdict["verdict"] == "refuses") is bool(wanted) is (refused.status != 0)
    if wanted:
        error = json.loads(refused.err)
        assert [verdict[key] for key in ("rule", "count", "index", "message")] == [
            error[key] for key in ("rule", "count", "value", "error")
        ]
        assert verdict["at"] == json.loads(error["where"]) == wanted[0]["at"]


def test_the_extremes_of_64_bits_are_what_they_are(run: Run, folder: Path) -> None:
    np.save(folder / "i.npy", np.array([2**64 - 1, 1, 2**63], np.uint64))
    ran = run("check", "gather", "1.5,2", "i.npy", "-f", "json")
    assert [each["index"] for each in json.loads(ran.out)["illegal"]["shown"]] == [2**64 - 1, 2**63]
