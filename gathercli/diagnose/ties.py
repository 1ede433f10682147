"""Tell explanations that tie apart: by an index in words, or by a call of the same shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from shlex import join
from typing import Any, Final, NamedTuple

import numpy as np

from gathercli.compute.compare import text_of
from gathercli.compute.storage import AnyArray
from gathercli.compute.tensor import Tensor
from gathercli.diagnose.combinations import Candidates
from gathercli.diagnose.index_hypotheses import FILLED
from gathercli.diagnose.prediction import Hypothesis
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.encode import TextOptions, literal
from gathercli.io.formats.values import tensor_of
from gathercli.spec.call import Call
from gathercli.spec.dtypes import DType, Kind
from gathercli.spec.shapes import cell, coordinates, product
from gathercli.text import counted


def apart(tied: list[Hypothesis], candidates: Candidates) -> str | None:
    """Return what would tell the first of tied hypotheses from another."""
    if len(tied) < 2:
        return None
    first, *others = tied
    for other in others:
        one = first._replace(conversion=other.conversion, treatment=other.treatment)
        if one._replace(others=other.others) == other:
            probe = _index_apart(first, other, candidates.bound(first))
            if probe is not None:
                return probe.replace("them apart", "two of them apart") if others[1:] else probe
    return "data whose elements all differ, or another shape, may tell them apart"


def _index_apart(one: Hypothesis, other: Hypothesis, call: Call | None) -> str | None:
    """Return an index that two hypotheses treat differently, in words."""
    if call is None:
        return None
    ((_, axes),) = call.indexed.items()
    along = next((each for each in axes if each.size), None)
    if along is None:
        return None
    s = along.size
    ends = [0, -1, s - 1, s, -s, -s - 1, 2 * s, -2 * s - 1, 127, 128, 255, 256, 1 << 16]
    ends += [n for h in (one, other) for n in h.others if n]
    ends += [1 << 31, 1 << 32, (1 << 32) + 1, -(1 << 31) - 1]
    for k in ends:
        if _outcome(one, k, s) != _outcome(other, k, s):
            where = f" on axis {along.axis}, of size {s}," if len(axes) > 1 else ""
            return f"an index of {k}{where} would tell them apart"
    return None


def _outcome(h: Hypothesis, k: int, s: int) -> tuple[int, int, str, bool]:
    """Return the position and the fate of an index, what fills it, and whether it is stale."""
    converted = h.conversion.function(np.array([k]), s, h.others[0])
    at, fates = (int(np.ravel(each)[0]) for each in h.treatment.function(converted, s, h.others[1]))
    fill = h.treatment.fill if fates else ""
    return at, fates, fill, h.treatment.keeps and bool(fill)


# A call that tells them apart

MAX_SUGGESTED: Final = 1 << 10  # the most elements of an input that is suggested
MAX_TRIES: Final = 200
FAR: Final = (127, 128, 200, 255, 256, 1 << 15, 1 << 16, 1 << 31, 1 << 32, (1 << 32) + 1)
"""Indices that are tried beside those near the ends of an axis, if their type has them."""


@dataclass(frozen=True)
class SuggestedCall:
    """A call that tells explanations that tie apart, as a command."""

    command: str
    cells: tuple[tuple[int, ...], ...]  # cells of its output that tell them apart
    values: tuple[tuple[str | None, ...], ...]  # what these hold by each; None if it is unknown
    groups: int  # of explanations, with different outputs

    def lines(self, sentences: Iterable[str]) -> Iterator[str]:
        """Yield the command, and what the cells hold by explanations of these sentences."""
        all_of_them = self.groups == len(self.values)
        them = "them" if all_of_them else counted(self.groups, "group of them", "groups of them")
        yield f"this call tells {them} apart: {self.command}"
        for values, sentence in zip(self.values, sentences, strict=False):
            cells = zip(self.cells, values, strict=True)
            held = (f"out{cell(at)} is {value or 'unknown'}" for at, value in cells)
            yield f"{', '.join(held)}: {sentence}"


def suggestion(tied: list[Hypothesis], candidates: Candidates) -> SuggestedCall | None:
    """Return the call of the same shapes that tells most hypotheses apart; None if none does.

    Its elements are drawn from a fixed seed: first legal indices, and elements that are small and
    different, then any of the type.
    """
    output, best = candidates.output, None
    sizes = [output.cells, *(product(each.shape) for each in candidates.tensors.values())]
    if len(tied) < 2 or not output.cells or max(sizes) > MAX_SUGGESTED:
        return None
    dice, cells, most = np.random.default_rng(0), np.arange(output.cells), 1
    for number in range(MAX_TRIES):
        share = number / MAX_TRIES
        drawn = _drawn(candidates, _Draw(dice, is_plain=share < 0.7, is_legal=share < 0.3))
        held = [_held(each, candidates.on(drawn), cells) for each in tied]
        if len({*held}) > most:
            chosen, most = _telling(held), len({*held})
            at = tuple(coordinates(n, output.shape) for n in chosen)
            values = tuple(tuple(row[n] for n in chosen) for row in held)
            best = SuggestedCall(_command(candidates, drawn), at, values, most)
        if most == len(tied):
            break
    return best


def _command(candidates: Candidates, tensors: dict[str, Tensor]) -> str:
    row, words = candidates.row, ["gathercli", candidates.row.family]
    for name, tensor in tensors.items():
        text = b"".join(literal([(name, tensor)], TextOptions())).decode().strip()
        words.append(re.sub(r"[ \[\]]+", ",", text).replace("=,", "=").removesuffix(","))
    for attr in row.attrs:
        value = getattr(candidates.call, attr.name, None)
        words += [f"--{attr.name.replace('_', '-')}={value}"] if value is not None else []
    return join([*words, "-V", row.id])


def _telling(held: list[tuple[str | None, ...]]) -> list[int]:
    """Choose cells, as few as are found one by one, that tell outputs apart as all cells do."""
    chosen: list[int] = []
    told: list[tuple[str | None, ...]] = [()] * len(held)
    while len({*told}) < len({*held}):
        cells = zip(*held, strict=True)
        columns = [[(*t, cell) for t, cell in zip(told, c, strict=True)] for c in cells]
        chosen.append(max(range(len(columns)), key=lambda n: len({*columns[n]})))
        told = columns[chosen[-1]]
    return chosen


def _held(each: Hypothesis, candidates: Candidates, cells: AnyArray) -> tuple[str | None, ...]:
    values, fates = candidates.prediction(each).values(cells)
    pairs = zip(values, fates, strict=True)
    return tuple(text_of(v) if fate <= FILLED else None for v, fate in pairs)


class _Draw(NamedTuple):
    dice: np.random.Generator
    is_plain: bool  # whether elements are small and different
    is_legal: bool  # whether indices are legal


def _drawn(candidates: Candidates, draw: _Draw) -> dict[str, Tensor]:
    call, tensors, dice = candidates.call, dict(candidates.tensors), draw.dice
    axes = () if call is None else next(iter(call.indexed.values()))
    legal = [range(-each.size * bool(call and call.wraps_negative), each.size) for each in axes]
    steps = tensors[next(iter(tensors))]
    for each in candidates.row.inputs:
        tensor = tensors[each.name]
        size, dtype = product(tensor.shape), tensor.dtype
        flat: list[Any] | None
        if each.values and axes:
            flat = _indices(dtype, legal, size, draw)
        elif call is None or call.op.followed is None:
            flat = _elements(dtype, size, draw)
        elif each.copied or tensor is steps:  # the tokens, and the last of them
            flat = dice.integers(1, 9, size).tolist()
        else:
            flat = dice.integers(0, steps.shape[0] + 1, size).tolist()
        if flat is not None:
            tensors[each.name] = tensor_of(flat, ElementTypes(dtype), shape=tensor.shape)
    return tensors


def _indices(dtype: DType, legal: list[range], size: int, draw: _Draw) -> list[int]:
    (low, high), drawn = dtype.bounds, []
    for n in range(size):
        pool, s = [*legal[n % len(legal)]], legal[n % len(legal)].stop
        if not draw.is_legal:
            pool = [*range(s)] * 2 + [-k for k in range(1, s)]
            if draw.dice.random() > 0.6:
                pool = [-1, 1 - s, -s, -s - 1, s - 1, s, s + 1, 2 * s, -2 * s - 1, *FAR]
        pool = [k for k in pool if low <= k <= high] or [0]
        drawn.append(pool[draw.dice.integers(len(pool))])
    return drawn


def _elements(dtype: DType, size: int, draw: _Draw) -> list[Any] | None:
    if dtype.kind is Kind.STRING:
        return [f"s{n}" for n in range(size)]
    if dtype.integral:
        low, high = dtype.bounds
        if draw.is_plain:
            return [1 + n % high for n in range(size)]
        kind = np.int64 if low else np.uint64
        return list(draw.dice.integers(low, high, size, kind, endpoint=True).tolist())
    if dtype.kind is not Kind.FLOAT or dtype.narrow or dtype.bits < 32:
        return None
    drawn = 1.5 * np.arange(1, size + 1) if draw.is_plain else draw.dice.normal(0, 1000, size)
    return [float(each) for each in drawn.astype(np.float32)]
