"""Scores of hypotheses: the cells that they explain."""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gathercli.diagnose.prediction import Hypothesis


TRIED: Final = 100
"""The order of the hypotheses of one departure; those of two are its square."""

UNLIKELY: Final = 0.05
"""The most expected hypotheses that explain as much by chance as one that is listed."""

MOST: Final = 0.5
"""The share of wrong cells above which a hypothesis need only be unlikely by itself."""


class Score(NamedTuple):
    """How a hypothesis does on some cells.

    Attributes
    ----------
    explained
        The cells that hold what it predicts.
    foreign
        The cells that hold what it cannot predict: memory outside the tensors.
    refused
        The cells that it predicts nothing for, as the version refuses the index.
    total
        All cells.
    """

    explained: int
    foreign: int
    refused: int
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
    """A hypothesis with its score on all cells.

    Attributes
    ----------
    wrong
        The number of cells that differ from the call as the version says; None if its output has
        another shape.
    proves
        Whether its cells prove it: more than one wrong cell, or what was done to an index.
    by_chance
        Whether it explains no more wrong cells than one of all hypotheses would by chance.
    """

    hypothesis: Hypothesis
    score: Score
    wrong: int | None = None
    proves: bool = True
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
    """Return whether some hypothesis is expected to explain as many cells by chance.

    Parameters
    ----------
    explained, cells
        The wrong cells that a hypothesis explains, and all wrong cells.
    likelihood
        How likely a cell holds what is predicted for another one, in (0, 1).
    departures
        The departures of the hypothesis.

    Notes
    -----
    The tail of a binomial distribution is at most ``exp(-cells * KL(share, likelihood))``
    (Chernoff), in which KL is the Kullback-Leibler divergence of two shares.
    """
    share = explained / cells if cells else 0.0
    if share <= likelihood:
        return True
    rest = (1 - share) * log((1 - share) / (1 - likelihood)) if share < 1 else 0.0
    exponent = cells * (share * log(share / likelihood) + rest)
    tried = 1 if share > MOST else TRIED**departures
    return exponent < (log(tried / UNLIKELY) if departures else inf)
