"""Scores of hypotheses: the cells that they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gathercli.diagnosis.prediction import Hypothesis


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
    """

    hypothesis: Hypothesis
    score: Score
    wrong: int | None = None
    proves: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it explains every cell, and not by chance."""
        return self.score.is_whole and self.proves

    @property
    def departures(self) -> int:
        """The departures of the hypothesis."""
        return self.hypothesis.departures
