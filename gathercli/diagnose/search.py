"""The search for the hypotheses that explain most cells with the fewest departures.

Combinations are tried on a few cells, the best of them on more, and the best of those on all. Cells
that contradict the best join the few, and the search begins again. A score counts the cells that a
hypothesis explains; one that explains no more than chance would proves nothing. At the end: where
the wrong cells are, which needs no hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, repeat, takewhile
from math import inf, log
from typing import Final, NamedTuple

import numpy as np

from gathercli.compute.compare import text_of
from gathercli.compute.storage import AnyArray
from gathercli.compute.threads import ProgressCallback
from gathercli.diagnose.call_hypotheses import FILLS
from gathercli.diagnose.combinations import PROBED_ROWS, Candidates
from gathercli.diagnose.index_hypotheses import FILLED, FOREIGN, READ, REFUSED
from gathercli.diagnose.output_hypotheses import OutputPlacement
from gathercli.diagnose.prediction import Hypothesis, ObservedOutput, Prediction
from gathercli.spec.shapes import coordinates, product
from gathercli.text import counted, listed

# The order of the hypotheses of one departure; those of two are its square.
HYPOTHESES_OF_ONE_DEPARTURE: Final = 250
# The most expected hypotheses that explain as much by chance as one that is listed.
MAX_BY_CHANCE: Final = 0.05
# The share of wrong cells above which a hypothesis need only be unlikely by itself.
SURE_SHARE: Final = 0.5


class Score(NamedTuple):
    """How a hypothesis does on some cells, of which it explains so many."""

    explained: int
    foreign: int  # cells that hold what it cannot predict: memory outside the tensors
    refused: int  # cells that it predicts nothing for, as the version refuses the index
    total: int

    @property
    def is_whole(self) -> bool:
        """Whether every cell holds what is predicted."""
        return self.explained == self.total

    @property
    def is_consistent(self) -> bool:
        """Whether every cell of a legal index holds what is predicted."""
        return self.explained > 0 and self.explained + self.refused == self.total

    @property
    def accounts(self) -> bool:
        """Whether every cell holds what is predicted, or what nothing can predict."""
        return self.explained > 0 and self.explained + self.foreign + self.refused == self.total


class ScoredHypothesis(NamedTuple):
    """A hypothesis with its score on some cells, or on all."""

    hypothesis: Hypothesis
    score: Score
    # cells that differ from the call as the version says; all if its output has another shape
    wrong: int | None = None
    proves: bool = True  # whether enough wrong cells prove it, or what was done to an index
    # whether it explains no more wrong cells than one of all hypotheses would by chance
    by_chance: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it explains every cell, and not by chance."""
        return self.score.is_whole and self.proves

    def adds_nothing_to(self, other: ScoredHypothesis) -> bool:
        """Whether it ranks behind another with some of its departures: the rest changes nothing."""
        own, its = ({*each.hypothesis.names} for each in (self, other))
        return its < own and other.rank <= self.rank

    @property
    def rank(self) -> tuple[float, ...]:
        """A key that is the smaller the better: cells explained, then departures, then how rare.

        Foreign cells count only where nothing else is left, and then less than a cell.
        """
        score, departures = self.score, self.hypothesis.departures
        if self.is_whole:
            return (
                False,
                departures,
                sum(getattr(each, "rare", False) for each in self.hypothesis.rows),
            )
        is_seen = score.accounts and (score.explained > 1 or self.hypothesis.of_indices)
        foreign = max(0.5, score.foreign / 8) if score.foreign and is_seen else 0
        return True, 0.4 * departures - score.explained - foreign


def is_by_chance(explained: int, cells: int, likelihood: float, departures: int) -> bool:
    """Return whether some hypothesis is expected to explain as many of the wrong cells by chance.

    `likelihood`, in (0, 1), is how likely a cell holds what is predicted for another one. The tail
    of a binomial distribution is at most ``exp(-cells * KL(share, likelihood))`` (Chernoff), in
    which KL is the Kullback-Leibler divergence of two shares.
    """
    share = explained / cells if cells else 0.0
    if share <= likelihood:
        return True
    rest = (1 - share) * log((1 - share) / (1 - likelihood)) if share < 1 else 0.0
    exponent = cells * (share * log(share / likelihood) + rest)
    tried = 1 if share > SURE_SHARE else HYPOTHESES_OF_ONE_DEPARTURE**departures
    return exponent < (log(tried / MAX_BY_CHANCE) if departures else inf)


# The wrong cells that prove no, one and two departures; of all pairs some explain fewer by chance.
PROVING_CELLS: Final = (0, 2, 6)
MAX_UNPROVED: Final = 4  # the most pairs on few wrong cells that are worth a line each
FEW_FOREIGN: Final = 3  # cells that hold one value, which is then no memory from elsewhere
FEW_CELLS: Final = 192  # cells of each kind, right and wrong, that every combination is tried on
MORE_CELLS: Final = 1 << 14  # cells that the best combinations are tried on

MAX_BEST: Final = 48
MAX_PROVED: Final = 8  # the combinations that are tried on more cells, and those on all
# The searches after cells that contradict the best combination joined the few.
SEARCH_ROUNDS: Final = 3
# The cells that each prediction is compared with to see how likely it agrees by chance.
CHANCE_SHIFTS: Final = 32
MAX_TOGETHER: Final = 64  # placements that are tried at once
BLOCK_CELLS: Final = 1 << 16  # cells that are predicted at once


class Search:
    """The search among candidates for those that explain an output."""

    def __init__(
        self,
        candidates: Candidates,
        output: ObservedOutput,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.candidates = candidates
        # The call as the version says; None if the shapes differ, or before the search.
        self.base: ScoredHypothesis | None = None
        self.output, self._progress = output, progress
        self._cells = output.cells
        self._few = np.empty(0, np.int64)
        self._placed_few: dict[OutputPlacement, AnyArray] = {}  # the cells placed there
        self._strange: tuple[AnyArray, AnyArray] | None = None

    def explanations(self) -> list[ScoredHypothesis]:
        """Return the best hypotheses with their scores on all cells, best first."""
        asked = self.candidates.asked()
        if asked is not None:
            self.base = self._proved(asked)
            if self.base.score.is_whole:
                return [self.base]
            if self._cells > PROBED_ROWS[1]:
                self.candidates.tail = next(self._legal_wrong(asked), None)
        self._few = self._chosen(asked)
        best: list[ScoredHypothesis] = []
        for _ in range(SEARCH_ROUNDS):
            best = self._round()
            if not best or best[0].score.is_whole or self._cells <= len(self._few):
                break
            if self._is_chance(best[0], self._few):
                break
            contrary = self.wrong_cells(best[0].hypothesis, FEW_CELLS)
            if not contrary.size or np.isin(contrary, self._few).all():
                break
            self._few = np.union1d(self._few, contrary)
            self._placed_few.clear()
        pairs = [each for each in best if each.hypothesis.departures > 1 and not each.proves]
        if MAX_UNPROVED < len(pairs) < len(best):  # of so many some explain anything
            best = [each for each in best if each not in pairs]
        if not best or best[0].is_whole:
            return best
        cells = self._few if asked is None else self.wrong_cells(asked, MORE_CELLS)
        return [each._replace(by_chance=self._is_chance(each, cells)) for each in best]

    def _is_chance(self, each: ScoredHypothesis, cells: AnyArray) -> bool:
        """Return whether a hypothesis explains no more of some wrong cells than chance would."""
        score, hypothesis = each.score, each.hypothesis
        is_seen = score.foreign <= score.explained or hypothesis.of_indices
        if score.accounts and is_seen and hypothesis.departures < 2:
            return False
        values, fates = self.candidates.prediction(hypothesis).values(cells)
        predicts, held = fates <= FILLED, self.output.held(cells)
        shifts = range(1, min(len(cells), CHANCE_SHIFTS + 1))
        explained, *others = (
            int((predicts & self.output.agrees(values, np.roll(held, n))).sum())
            for n in (0, *shifts)
        )
        number = int(predicts.sum()) if score.accounts else len(cells)
        likelihood = (sum(others) + 0.5) / (max(1, len(shifts)) * max(1, number) + 1)
        return is_by_chance(explained, number, min(likelihood, 0.99), hypothesis.departures)

    def _round(self) -> list[ScoredHypothesis]:
        """Search on the few cells, and prove the best."""
        few: list[ScoredHypothesis] = []
        for departures in (0, 1, 2):
            few = _best([*few, *self._tried(self.candidates.combinations(departures))])
            if few and few[0].score.is_whole and few[0].hypothesis.departures <= departures:
                break
        base = [] if self.base is None else [self.base]
        if not few:
            return base
        unique: dict[object, ScoredHypothesis] = {}
        for each in (*map(self._proved, self._to_prove(few)), *base):
            names = tuple(getattr(part, "name", None) for part in each.hypothesis)
            unique.setdefault(names, each)  # with the sizes of other axes in them
        proved = sorted(unique.values(), key=lambda each: each.rank)
        return [
            each
            for each in proved
            if (each.hypothesis.departures <= 2 or each.score.is_whole)
            and not any(each.adds_nothing_to(one) for one in proved)
        ]

    def _tried(self, hypotheses: Iterable[Hypothesis]) -> list[ScoredHypothesis]:
        """Try hypotheses, and every treatment of refused indices with the consistent ones."""
        groups = groupby(hypotheses, lambda each: (*each[:-2], each.others))
        scored = [each for _, group in groups for each in self._scored_together(list(group))]
        consistent = [
            each
            for each in scored
            if each.score.refused
            and each.score.is_consistent
            and not each.hypothesis.treatment.name
        ]
        consistent.sort(key=lambda each: -each.score.explained)
        treated = (
            one
            for each in consistent[:MAX_PROVED]
            for row in self.candidates.treatments
            for one in self.candidates.with_others(each.hypothesis._replace(treatment=row))
        )
        return _best([*scored, *(self._scored(each, self._few) for each in treated)])

    def _to_prove(self, few: list[ScoredHypothesis]) -> list[Hypothesis]:
        """Return the hypotheses to prove: all of a small output, else the best on more cells."""
        if self._cells <= MORE_CELLS:
            return [each.hypothesis for each in few]
        dice = np.random.default_rng(1)
        more = np.union1d(self._few, dice.integers(0, self._cells, MORE_CELLS))
        few = _best([self._scored(each.hypothesis, more) for each in few])
        tied = [each.hypothesis for each in few if each.rank == few[0].rank]
        others = [each.hypothesis for each in few[:MAX_PROVED] if each.rank != few[0].rank]
        return tied[:MAX_PROVED] + others[: max(0, 3 - len(tied))]

    def both(self, hypothesis: Hypothesis, at: int) -> tuple[str, str | None]:
        """Return what a cell holds and what is predicted, as text; None if nothing is."""
        cells = np.array([at])
        values, fates = self.candidates.prediction(hypothesis).values(cells)
        held = text_of(self.output.held(cells)[0])
        return held, text_of(values[0]) if fates[0] <= FILLED else None

    def compared(self, hypothesis: Hypothesis, cells: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Return a mask of the cells that hold what is predicted, and the fate of each."""
        values, fates = self.candidates.prediction(hypothesis).values(cells)
        agrees = self.output.agrees(values, self.output.held(cells), hypothesis.reading.near)
        return agrees & (fates <= FILLED), fates

    def _scored(self, hypothesis: Hypothesis, cells: AnyArray) -> ScoredHypothesis:
        return self._score(hypothesis, *self.compared(hypothesis, cells), cells)

    def _score(
        self, hypothesis: Hypothesis, agrees: AnyArray, fates: AnyArray, cells: AnyArray
    ) -> ScoredHypothesis:
        foreign, refused = fates == FOREIGN, int((fates == REFUSED).sum())
        outside, explained, odd = int(foreign.sum()), int(agrees.sum()), 0
        if outside:
            held = self.output.held(cells)[foreign]
            zeros = int((held == FILLS["zero"](held.dtype)).sum())
            is_fill = outside >= FEW_FOREIGN and bool((held == held[0]).all())
            odd = 0 if is_fill else int((foreign & self._is_strange(cells)).sum())
            odd = outside - zeros if 2 * odd > outside - zeros else odd
            explained += zeros if odd else 0  # memory from elsewhere has zeros, too
        return ScoredHypothesis(hypothesis, Score(explained, odd, refused, len(cells)))

    def _scored_together(self, group: list[Hypothesis]) -> list[ScoredHypothesis]:
        """Score hypotheses that differ in the placement alone on the few cells, all at once."""
        if len(group) == 1:
            return [self._scored(group[0], self._few)]
        scored: list[ScoredHypothesis] = []
        for start in range(0, len(group), MAX_TOGETHER):
            part = group[start : start + MAX_TOGETHER]
            placed = np.concatenate([self._placed(each.placement) for each in part])
            values, fates = self.candidates.prediction(part[0]).placed(placed)
            held = np.tile(self.output.held(self._few), len(part))
            agrees = self.output.agrees(values, held, part[0].reading.near)
            agrees &= fates <= FILLED
            by_hypothesis = (each.reshape(len(part), -1) for each in (agrees, fates))
            scored += map(self._score, part, *by_hypothesis, repeat(self._few))
        return scored

    def _placed(self, placement: OutputPlacement) -> AnyArray:
        """Return the cells that a placement puts into the few."""
        if placement.rare:
            return placement.cells(self._few)
        if placement not in self._placed_few:
            self._placed_few[placement] = placement.cells(self._few)
        return self._placed_few[placement]

    def _is_strange(self, cells: AnyArray) -> AnyArray:
        """Return a mask of the cells that hold no zero, and no element of small `data`."""
        if self._strange is None or self._strange[0] is not cells:
            data = next(iter(self.candidates.tensors.values()))
            known = data.values() if product(data.shape) <= MORE_CELLS else np.empty(0)
            held = self.output.held(cells)
            self._strange = cells, ~np.isin(held, known) & (held != FILLS["zero"](held.dtype))
        return self._strange[1]

    def _proved(self, hypothesis: Hypothesis) -> ScoredHypothesis:
        scores = [self._scored(hypothesis, cells).score for cells in self._blocks()]
        score = Score(*map(sum, zip(Score(0, 0, 0, 0), *scores, strict=True)))
        wrong = score.total
        if self.base is not None:
            wrong = self.base.score.total - self.base.score.explained
        departures = hypothesis.departures
        is_told = self.base is None or (hypothesis.of_indices and self.candidates.has_outside)
        proves = wrong >= PROVING_CELLS[min(departures, 2)] or (departures < 2 and is_told)
        return ScoredHypothesis(hypothesis, score, wrong, proves)

    def wrong_cells(self, hypothesis: Hypothesis, most: int) -> AnyArray:
        """Return up to `most` cells that a hypothesis does not explain, in order."""
        chosen, number = [np.empty(0, np.int64)], 0
        for cells in self.wrong_blocks(hypothesis):
            chosen.append(cells)
            number += len(cells)
            if number >= most:
                break
        return np.concatenate(chosen)[:most]

    def wrong_blocks(self, hypothesis: Hypothesis) -> Iterator[AnyArray]:
        """Yield the cells that a hypothesis does not explain, block by block."""
        for cells in self._blocks():
            agrees, _ = self.compared(hypothesis, cells)
            yield cells[~agrees]

    def _legal_wrong(self, hypothesis: Hypothesis) -> Iterator[int]:
        """Yield the first wrong cell of each block whose index the version does not refuse."""
        for cells in self._blocks():
            agrees, fates = self.compared(hypothesis, cells)
            yield from cells[~agrees & (fates != REFUSED)][:1].tolist()

    def _blocks(self) -> Iterator[AnyArray]:
        for start in range(0, self._cells, BLOCK_CELLS):
            stop = min(start + BLOCK_CELLS, self._cells)
            yield np.arange(start, stop)
            if self._progress is not None:
                size = self.output.tensor.array.itemsize
                self._progress("compared", stop * size, self._cells * size)

    def _chosen(self, base: Hypothesis | None) -> AnyArray:
        """Return cells spread over the output, and wrong ones of the base."""
        if self._cells <= 2 * FEW_CELLS:
            return np.arange(self._cells)
        dice = np.random.default_rng(0)
        spread = dice.integers(0, self._cells, FEW_CELLS)
        ends = np.array([0, self._cells - 1])
        wrong = np.empty(0, np.int64)
        if base is not None:
            wrong = self.wrong_cells(base, MORE_CELLS)
            if wrong.size > FEW_CELLS:
                wrong = wrong[np.unique(np.linspace(0, wrong.size - 1, FEW_CELLS).astype(np.int64))]
        return np.unique(np.concatenate([ends, spread, wrong]))


def _best(scored: list[ScoredHypothesis]) -> list[ScoredHypothesis]:
    return sorted(scored, key=lambda each: each.rank)[:MAX_BEST]


# Where the wrong cells are

MAX_LOCATED: Final = 1 << 22  # the most cells, and comparisons of rows, that say where they are
MAX_ROWS: Final = 5  # the most wrong rows whose place in `data` is looked for
MAX_LISTED_ROWS: Final = 4


class MovedRow(NamedTuple):
    """A wrong row of the output: the row of `data` that it holds, and the right one."""

    out: str  # ``out[2,:]``
    holds: str | None  # ``data[5,:]``, ``zeros``; None for a row that is not in `data`
    expected: str | None  # None if the version refuses the index


def where(search: Search) -> Iterator[str]:
    """Yield what the wrong cells have in common, in words."""
    base, shape = search.base, search.output.shape
    if base is None or not 0 < search.output.cells <= MAX_LOCATED:
        return
    cells = np.arange(search.output.cells)
    agrees, _ = search.compared(base.hypothesis, cells)
    wrong = ~agrees.reshape(shape)
    flat = np.flatnonzero(wrong)
    if len(flat) == len(cells):
        yield "every cell"
    if not 1 < len(flat) < len(cells):
        return
    parts, size = [], 1  # of the rows along each axis
    for d, n in enumerate(shape):
        rows = np.flatnonzero(np.moveaxis(wrong, d, 0).reshape(n, -1).any(axis=1))
        size *= len(rows)
        parts += [f"{_span(rows, n)} along axis {d}"] * (len(rows) < n)
    if size == len(flat):
        yield ", ".join(parts)
    elif flat[-1] + 1 == len(cells) == flat[0] + len(flat):
        yield f"the last {counted(len(flat), 'cell')}{_behind(int(flat[0]), len(cells))}"
    prediction = search.candidates.prediction(base.hypothesis)
    yield from _of_indices(prediction, wrong.reshape(-1), cells)


def _span(rows: AnyArray, size: int) -> str:
    """Name rows of an axis."""
    first, last, number = int(rows[0]), int(rows[-1]), len(rows)
    steps = {*np.diff(rows).tolist()}
    if number == 1:
        return f"row {first}"
    if steps == {1}:
        return f"rows {first} to {last}" + (_behind(first, size) if last + 1 == size else "")
    if number <= MAX_LISTED_ROWS:
        return f"rows {listed(map(str, rows.tolist()), 'and')}"
    which = f"one row of {steps.pop()}" if len(steps) == 1 else counted(number, "row")
    return f"{which} from {first} to {last}"


def _behind(start: int, size: int) -> str:
    """Say which whole blocks end before the last rows, which are fewer."""
    block = start & -start
    return f" (behind the last whole block of {block})" if size - start < block > 3 else ""


def _of_indices(prediction: Prediction, wrong: AnyArray, cells: AnyArray) -> Iterator[str]:
    """Yield what the indices of the wrong cells have in common, and those of no other cell."""
    columns, kinds = prediction.source.indices(cells), {}
    if columns:
        kinds["negative"] = np.any([k < 0 for k, _ in columns], axis=0)
        kinds["outside the axis"] = np.any([(k < -s) | (k >= s) for k, s in columns], axis=0)
    if len(columns) == 1:
        ((k, _),) = columns
        first = k[wrong][0]
        kinds[str(first)] = k == first
    for words, chosen in kinds.items():
        if not (wrong & ~chosen).any() and not chosen.all():
            which = "exactly those" if (wrong == chosen).all() else "only some"
            yield f"{which} whose index is {words}"


def moved_rows(search: Search) -> Iterator[MovedRow]:
    """Yield the first wrong rows, with where in `data` each comes from."""
    base, output = search.base, search.output
    call = None if base is None else search.candidates.bound(base.hypothesis)
    if base is None or call is None or call.gather is None:
        return
    own = [i is None and d is not None and d > call.gather.axis for d, i in call.gather.dim_map]
    whole = len(list(takewhile(bool, reversed(own))))  # the dimensions of a row
    inner = product(output.shape[output.tensor.array.ndim - whole :])
    data = next(iter(search.candidates.tensors.values()))
    if not inner or not 0 < product(data.shape) * MAX_ROWS <= MAX_LOCATED:
        return
    rows, source = (
        data.values().reshape(-1, inner),
        search.candidates.prediction(base.hypothesis).source,
    )
    wrong = search.wrong_cells(base.hypothesis, MAX_LOCATED) // inner
    for row in list(dict.fromkeys(wrong.tolist()))[:MAX_ROWS]:
        held = output.held(np.arange(row * inner, (row + 1) * inner))
        same = np.flatnonzero((rows == held).all(axis=1))
        ((at,), (fate,)) = source.positions(np.array([row * inner]))
        holds = _named_row("data", same[0] * inner, data.shape, whole) if len(same) == 1 else None
        if holds is None and (held == FILLS["zero"](held.dtype)).all():
            holds = "zeros"
        expected = "a fill" if fate == FILLED else None
        if fate == READ:
            expected = _named_row("data", at, data.shape, whole)
        yield MovedRow(_named_row("out", row * inner, output.shape, whole), holds, expected)


def _named_row(tensor: str, position: int, shape: tuple[int, ...], whole: int) -> str:
    """Name the row with the element at a flat position: ``data[5,:]``."""
    at = coordinates(int(position), shape)[: len(shape) - whole]
    return f"{tensor}[{','.join([*map(str, at), *':' * whole])}]"
