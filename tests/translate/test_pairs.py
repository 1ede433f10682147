"""Translations agree with the version, by our evaluation and in real runtimes.

A runtime that is not installed is skipped by name. ``GATHERCLI_PEERS=torch=/venv/bin/python,…``
names the Pythons that have them; ``python -m tests.translate`` makes 200 calls of each pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.runtimes.client import RuntimeProcess
from gathercli.translate.proof import calls_of, prove
from gathercli.translate.running import judged, observe
from gathercli.translate.targets import target
from gathercli.translate.translation import translated
from tests.runtimes.peers import PEERS
from tests.translate.pairs import PAIRS, bound, name, trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.translate.pairs import Pair

CALLS = 12


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[str, RuntimeProcess]]:
    started: dict[str, RuntimeProcess] = {}
    yield started
    for each in started.values():
        each.close()


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_a_translation_is_equal_by_our_evaluation(pair: Pair) -> None:
    call = bound(pair.version, pair.tensors, **pair.options)
    translation = translated(call.call, target(pair.target))

    proof = prove(translation, calls_of(translation, call, 60))

    assert len(proof.outcomes) == 61


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_a_translation_is_equal_in_its_runtime(
    pair: Pair, processes: dict[str, RuntimeProcess]
) -> None:
    if pair.runtime not in processes:
        processes[pair.runtime] = RuntimeProcess(PEERS[pair.runtime], 60)
    process = processes[pair.runtime]
    translation, calls, _ = trials(pair, CALLS)
    seen = [observe(translation, calls[0].tensors, process)]
    if seen[0].problem == "absent":
        pytest.skip(f"{pair.runtime} is not installed")

    seen += [observe(translation, each.tensors, process) for each in calls[1:]]

    for each, one in zip(calls, seen, strict=True):
        assert judged(each, one) in ("equal", "both refuse"), (one, each.tensors)
