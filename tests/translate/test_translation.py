"""Translations, each of which computes what its version does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gathercli.translate.proof import calls_of, prove
from gathercli.translate.targets import target
from gathercli.translate.translation import translated
from tests.translate.pairs import PAIRS, bound, name

if TYPE_CHECKING:
    from tests.translate.pairs import Pair


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_a_translation_is_equal_by_our_evaluation(pair: Pair) -> None:
    call = bound(pair.version, pair.tensors, **pair.options)
    translation = translated(call.call, target(pair.target))

    proof = prove(translation, calls_of(translation, call, 60))

    assert len(proof) == 61
