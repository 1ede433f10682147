"""The search for the hypotheses that explain most cells with the fewest departures.

Combinations are tried on a few cells, the best of them on more, and the best of those on all. Cells
that contradict the best join the few, and the search begins again. A score counts the cells that a
hypothesis explains; one that explains no more than chance would proves nothing.
"""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gathercli.compute.compare import text_of
from gathercli.diagnose.index_hypotheses import TREATMENTS, CellFate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.compute.storage import AnyArray
    from gathercli.compute.threads import ProgressCallback
    from gathercli.diagnose.combinations import Candidates
    from gathercli.diagnose.prediction import Hypothesis, ObservedOutput, Prediction


HYPOTHESES_OF_ONE_DEPARTURE: Final = 100
"""The order of the hypotheses of one departure; those of two are its square."""

MAX_BY_CHANCE: Final = 0.05
"""The most expected hypotheses that explain as much by chance as one that is listed."""

SURE_SHARE: Final = 0.5
"""The share of wrong cells above which a hypothesis need only be unlikely by itself."""


class Score(NamedTuple):
    """How a hypothesis does on some cells, of which it explains so many."""

    explained: int
    foreign: int  # cells that hold what it cannot predict: memory outside the tensors
    refused: int  # cells that it predicts nothing for, as the version refuses the index
    total: int

    def __add__(self, other: object) -> Score:
        """Add the scores on two disjoint sets of cells."""
        if not isinstance(other, Score):
            return NotImplemented
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

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

    def rank(self, departures: int) -> tuple[float, ...]:
        """Return a key that is the smaller the better; foreign cells count half."""
        cells = self.explained + min(self.foreign, self.explained) / 2
        return (not self.is_whole, departures if self.is_whole else 0.4 * departures - cells)


class ProvedHypothesis(NamedTuple):
    """A hypothesis with its score on all cells."""

    hypothesis: Hypothesis
    score: Score
    # cells that differ from the call as the version says; None if its output has another shape
    wrong: int | None = None
    proves: bool = True  # whether more than one wrong cell proves it, or what was done to an index
    # whether it explains no more wrong cells than one of all hypotheses would by chance
    by_chance: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it explains every cell, and not by chance."""
        return self.score.is_whole and self.proves

    @property
    def departures(self) -> int:
        """The departures of the hypothesis."""
        return self.hypothesis.departures


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


FEW_CELLS: Final = 192
"""Cells of each kind, right and wrong, that every combination is tried on."""

MORE_CELLS: Final = 1 << 14
"""Cells that the best combinations are tried on."""

MAX_BEST: Final = 48
MAX_PROVED: Final = 8
"""The combinations that are tried on more cells, and those on all."""

SEARCH_ROUNDS: Final = 3
"""The searches after cells that contradict the best combination joined the few."""

CHANCE_SHIFTS: Final = 32
"""The cells that each prediction is compared with to see how likely it agrees by chance."""

BLOCK_CELLS: Final = 1 << 16
"""Cells that are predicted at once."""


class Search:
    """The search among candidates for those that explain an output."""

    def __init__(
        self,
        candidates: Candidates,
        output: ObservedOutput,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._candidates, self._output, self._progress = candidates, output, progress
        self._cells = output.cells
        self._few = np.empty(0, np.int64)
        self._right: ProvedHypothesis | None = None

    def explanations(self) -> list[ProvedHypothesis]:
        """Return the best hypotheses with their scores on all cells, best first."""
        base = self._candidates.asked()
        right = self._right = None if base is None else self.prove(base)
        if right is not None and right.score.is_whole:
            return [right]
        wrong = None if right is None else right.score.total - right.score.explained
        self._few = self._chosen(base)
        best: list[ProvedHypothesis] = []
        for _ in range(SEARCH_ROUNDS):
            best = self._round(wrong, right)
            if not best or best[0].score.is_whole or self._cells <= len(self._few):
                break
            contrary = self.wrong_cells(best[0].hypothesis, FEW_CELLS)
            if not contrary.size or np.isin(contrary, self._few).all():
                break
            self._few = np.union1d(self._few, contrary)
        return self._weighed(best)

    def _weighed(self, best: list[ProvedHypothesis]) -> list[ProvedHypothesis]:
        """Mark those that explain no more wrong cells than chance, if none explains all."""
        if not best or best[0].score.is_whole:
            return best
        base = self._right
        cells = self._few if base is None else self.wrong_cells(base.hypothesis, MORE_CELLS)
        return [each._replace(by_chance=self._is_chance(each, cells)) for each in best]

    def _is_chance(self, each: ProvedHypothesis, cells: AnyArray) -> bool:
        prediction = self._candidates.prediction(each.hypothesis)
        if prediction is None or each.score.accounts:
            return False
        values, fates = prediction.values(cells)
        predicts, held = fates <= CellFate.FILLED, self._output.held(cells)
        explained = int((predicts & self._output.agrees(values, held)).sum())
        shifts = range(1, min(len(cells), CHANCE_SHIFTS + 1))
        agreeing = sum(
            int((predicts & self._output.agrees(values, np.roll(held, n))).sum()) for n in shifts
        )
        likelihood = (agreeing + 0.5) / (len(shifts) * len(cells) + 1)
        return is_by_chance(explained, len(cells), likelihood, each.departures)

    def _round(self, wrong: int | None, right: ProvedHypothesis | None) -> list[ProvedHypothesis]:
        """Search on the few cells, and prove the best."""
        few: list[tuple[Hypothesis, Score]] = []
        for departures in (0, 1, 2):
            tried = self._tried(self._candidates.combinations(departures))
            few = sorted([*few, *tried], key=lambda pair: pair[1].rank(pair[0].departures))[
                :MAX_BEST
            ]
            if few and few[0][1].is_whole:
                break
        if not few:
            return [] if right is None else [right]
        proved = [self._explained(each, wrong) for each in self._best(few)]
        if right is not None:
            proved.append(right)
        unique = {_key(each.hypothesis): each for each in reversed(proved)}
        proved = list(reversed(unique.values()))
        proved.sort(key=lambda each: each.score.rank(each.departures))
        return proved

    def _tried(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Score]]:
        """Try hypotheses, and every treatment of refused indices with the consistent ones."""
        held = self._output.held(self._few)
        scored: list[tuple[Hypothesis, Score]] = []
        consistent: list[tuple[Hypothesis, Score]] = []
        for each in hypotheses:
            prediction = self._candidates.prediction(each)
            if prediction is not None:
                score = self._score(prediction, self._few, held)
                scored.append((each, score))
                if score.refused and score.is_consistent and not each.treatment.name:
                    consistent.append((each, score))
        consistent.sort(key=lambda pair: -pair[1].explained)
        treated = (
            one
            for each, _ in consistent[:MAX_PROVED]
            for row in TREATMENTS
            for one in self._candidates.with_others(each._replace(treatment=row))
        )
        scored += self._ranked(treated, self._few, MAX_BEST)
        scored.sort(key=lambda pair: pair[1].rank(pair[0].departures))
        return scored[:MAX_BEST]

    def _best(self, few: list[tuple[Hypothesis, Score]]) -> list[Hypothesis]:
        """Return the hypotheses to prove."""
        if self._cells > MORE_CELLS:
            more = self._more()
            few = self._ranked((each for each, _ in few), more, MAX_BEST)
        best = few[0][1].rank(few[0][0].departures)
        tied = [each for each, score in few if score.rank(each.departures) == best]
        if self._cells <= MORE_CELLS:
            return [each for each, _ in few]
        return (tied or [])[:MAX_PROVED] + [
            each for each, score in few[:MAX_PROVED] if score.rank(each.departures) != best
        ][: max(0, 3 - len(tied))]

    def _explained(self, hypothesis: Hypothesis, wrong: int | None) -> ProvedHypothesis:
        explanation = self.prove(hypothesis)
        proves = (
            wrong is None or wrong > 1 or (hypothesis.of_indices and self._candidates.has_outside)
        )
        return explanation._replace(wrong=wrong, proves=proves)

    def base(self) -> ProvedHypothesis | None:
        """Return the call as the version says with its score; None if the shapes differ."""
        return self._right

    def both(self, hypothesis: Hypothesis, at: int) -> tuple[str, str | None]:
        """Return what a cell holds and what is predicted, as text; None if nothing is."""
        cells = np.array([at])
        prediction = self._candidates.prediction(hypothesis)
        held = text_of(self._output.held(cells)[0])
        if prediction is None:
            return held, None
        values, fates = prediction.values(cells)
        return held, text_of(values[0]) if fates[0] <= CellFate.FILLED else None

    def _ranked(
        self, hypotheses: Iterable[Hypothesis], cells: AnyArray, most: int
    ) -> list[tuple[Hypothesis, Score]]:
        """Return the best hypotheses on some cells, in the order of the tables where they tie."""
        held = self._output.held(cells)
        scored = []
        for each in hypotheses:
            prediction = self._candidates.prediction(each)
            if prediction is not None:
                score = self._score(prediction, cells, held)
                scored.append((each, score))
        scored.sort(key=lambda pair: pair[1].rank(pair[0].departures))
        return scored[:most]

    def _score(self, prediction: Prediction, cells: AnyArray, held: AnyArray) -> Score:
        values, fates = prediction.values(cells)
        predicts = fates <= CellFate.FILLED
        agrees = predicts & self._output.agrees(values, held)
        foreign, refused = (
            int((fates == each).sum()) for each in (CellFate.FOREIGN, CellFate.REFUSED)
        )
        return Score(int(agrees.sum()), foreign, refused, len(cells))

    def prove(self, hypothesis: Hypothesis) -> ProvedHypothesis:
        """Score a hypothesis on all cells."""
        prediction = self._candidates.prediction(hypothesis)
        score = Score(0, 0, 0, 0)
        if prediction is not None:
            for cells in self._blocks():
                score += self._score(prediction, cells, self._output.held(cells))
        return ProvedHypothesis(hypothesis, score)

    def wrong_cells(self, hypothesis: Hypothesis, most: int) -> AnyArray:
        """Return up to `most` cells that a hypothesis does not explain, in order."""
        chosen = list(self._unexplained(hypothesis, most))
        return np.concatenate(chosen)[:most] if chosen else np.empty(0, np.int64)

    def _unexplained(self, hypothesis: Hypothesis, most: int) -> Iterator[AnyArray]:
        prediction, number = self._candidates.prediction(hypothesis), 0
        if prediction is None:
            return
        for cells in self._blocks():
            values, fates = prediction.values(cells)
            agrees = (fates <= CellFate.FILLED) & self._output.agrees(
                values, self._output.held(cells)
            )
            yield cells[~agrees]
            number += int((~agrees).sum())
            if number >= most:
                return

    def _blocks(self) -> Iterator[AnyArray]:
        """Yield all cells, block by block."""
        for start in range(0, self._cells, BLOCK_CELLS):
            stop = min(start + BLOCK_CELLS, self._cells)
            yield np.arange(start, stop)
            if self._progress is not None:
                size = self._output.tensor.array.itemsize
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

    def _more(self) -> AnyArray:
        """Return the few cells and many more, spread over the output."""
        dice = np.random.default_rng(1)
        return np.union1d(self._few, dice.integers(0, self._cells, MORE_CELLS))


def _key(hypothesis: Hypothesis) -> tuple[object, ...]:
    """Return the names of a hypothesis; the sizes of other axes are in them."""
    return tuple(getattr(each, "name", None) for each in hypothesis)
