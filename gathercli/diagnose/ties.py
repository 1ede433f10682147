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
from gathercli.spec.op import Op
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


class Suggestion(NamedTuple):
    """A call that tells explanations that tie apart."""

    tensors: dict[str, Tensor]  # its inputs by name
    cells: tuple[tuple[int, ...], ...]  # cells of its output that tell them apart
    values: tuple[tuple[str | None, ...], ...]  # what these hold by each; None if that is unknown

    @property
    def groups(self) -> int:
        """How many outputs the explanations give."""
        return len({*self.values})


def suggestion(tied: list[Hypothesis], candidates: Candidates) -> Suggestion | None:
    """Return the call of the same shapes that tells most hypotheses apart; None if none does.

    Its elements are drawn from a fixed seed: first small and different ones, then any of the type.
    """
    output, best = candidates.output, None
    sizes = [output.cells, *(product(each.shape) for each in candidates.tensors.values())]
    if len(tied) < 2 or not output.cells or max(sizes) > MAX_SUGGESTED:
        return None
    dice, cells = np.random.default_rng(0), np.arange(output.cells)
    for number in range(MAX_TRIES):
        share = number / MAX_TRIES
        drawn = _drawn(candidates, dice, is_plain=share < 0.7, is_legal=share < 0.3)
        other = candidates.on(drawn)
        held = [_held(each, other, cells) for each in tied]
        if len({*held}) > (best.groups if best else 1):
            chosen = _telling(held)
            at = tuple(coordinates(n, output.shape) for n in chosen)
            best = Suggestion(other.tensors, at, tuple(_some(each, chosen) for each in held))
        if best and best.groups == len(tied):
            break
    return best


def _telling(held: list[tuple[str | None, ...]]) -> list[int]:
    """Choose cells, as few as are found one by one, that tell outputs apart as all cells do."""
    chosen: list[int] = []
    while len({_some(each, chosen) for each in held}) < len({*held}):
        counts = [len({_some(each, [*chosen, n]) for each in held}) for n in range(len(held[0]))]
        chosen.append(counts.index(max(counts)))
    return chosen


def _some(row: tuple[str | None, ...], chosen: list[int]) -> tuple[str | None, ...]:
    return tuple(row[n] for n in chosen)


def _held(each: Hypothesis, candidates: Candidates, cells: AnyArray) -> tuple[str | None, ...]:
    values, fates = candidates.prediction(each).values(cells)
    return tuple(
        text_of(v) if fate <= FILLED else None for v, fate in zip(values, fates, strict=True)
    )


def _drawn(
    candidates: Candidates, dice: np.random.Generator, *, is_plain: bool, is_legal: bool
) -> dict[str, Tensor]:
    call, tensors = candidates.call, dict(candidates.tensors)
    axes = () if call is None else next(iter(call.indexed.values()))
    for each in candidates.row.inputs:
        tensor = tensors[each.name]
        size, dtype = product(tensor.shape), tensor.dtype
        flat: list[Any] | None
        if each.values and axes:
            ends = [(-each.size * bool(call and call.wraps_negative), each.size) for each in axes]
            legal = ends if is_legal else None
            flat = _indices(dtype, [along.size for along in axes], size, dice, legal)
        elif call is None or call.op.followed is None:
            flat = _elements(dtype, size, dice, is_plain=is_plain)
        elif each.copied or each.name == next(iter(tensors)):  # the tokens, and the last of them
            flat = dice.integers(1, 9, size).tolist()
        else:
            flat = dice.integers(0, tensors[next(iter(tensors))].shape[0] + 1, size).tolist()
        if flat is not None:
            tensors[each.name] = tensor_of(flat, ElementTypes(dtype), shape=tensor.shape)
    return tensors


def _indices(
    dtype: DType,
    sizes: list[int],
    size: int,
    dice: np.random.Generator,
    legal: list[tuple[int, int]] | None,
) -> list[int]:
    """Draw indices, or tuples of them: legal ones, each in a range, or of all kinds."""
    (low, high), drawn = dtype.bounds, []
    for n in range(size):
        s = sizes[n % len(sizes)]
        pool = [*range(s)] * 2 + [-k for k in range(1, s)]
        if legal is not None:
            pool = [*range(*legal[n % len(sizes)])]
        elif dice.random() > 0.6:
            pool = [-1, 1 - s, -s, -s - 1, s - 1, s, s + 1, 2 * s, -2 * s - 1, *FAR]
        pool = [k for k in pool if low <= k <= high] or [0]
        drawn.append(pool[dice.integers(len(pool))])
    return drawn


def _elements(
    dtype: DType, size: int, dice: np.random.Generator, *, is_plain: bool
) -> list[Any] | None:
    if dtype.kind is Kind.STRING:
        return [f"s{n}" for n in range(size)]
    if dtype.integral:
        low, high = dtype.bounds
        if is_plain:
            return [1 + n % high for n in range(size)]
        kind = np.int64 if low else np.uint64
        return list(dice.integers(low, high, size, kind, endpoint=True).tolist())
    if dtype.kind is not Kind.FLOAT or dtype.narrow or dtype.bits < 32:
        return None
    drawn = 1.5 * np.arange(1, size + 1) if is_plain else dice.normal(0, 1000, size)
    return [float(each) for each in drawn.astype(np.float32)]


@dataclass(frozen=True)
class SuggestedCall:
    """A call that tells explanations that tie apart, as a command."""

    command: str
    cells: tuple[tuple[int, ...], ...]  # cells of its output that tell them apart
    values: tuple[tuple[str | None, ...], ...]  # what these hold by each; None if it is unknown
    groups: int  # of explanations, with different outputs

    @classmethod
    def of(cls, suggested: Suggestion, row: Op, call: Call | None) -> SuggestedCall:
        """Return a suggestion for a row, with the attributes of a call."""
        words = ["gathercli", row.family]
        for name, tensor in suggested.tensors.items():
            text = b"".join(literal([(name, tensor)], TextOptions())).decode().strip()
            words.append(re.sub(r"[ \[\]]+", ",", text).replace("=,", "=").removesuffix(","))
        for attr in row.attrs:
            value = getattr(call, attr.name, None)
            words += [f"--{attr.name.replace('_', '-')}={value}"] if value is not None else []
        command = join([*words, "-V", row.id])
        return cls(command, suggested.cells, suggested.values, suggested.groups)

    def lines(self, sentences: Iterable[str]) -> Iterator[str]:
        """Yield the command, and what the cells hold by explanations of these sentences."""
        all_of_them = self.groups == len(self.values)
        them = "them" if all_of_them else counted(self.groups, "group of them", "groups of them")
        yield f"this call tells {them} apart: {self.command}"
        for values, sentence in zip(self.values, sentences, strict=False):
            cells = zip(self.cells, values, strict=True)
            held = (f"out{cell(at)} is {value or 'unknown'}" for at, value in cells)
            yield f"{', '.join(held)}: {sentence}"
