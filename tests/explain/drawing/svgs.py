"""Drawings as the tests read them: elements by id, boxes, the ends of arrows, coordinates."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise, product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SVG: Final = "{http://www.w3.org/2000/svg}"

At = tuple[int | None, ...]
Point = tuple[float, float]


class Drawn(NamedTuple):
    """A cell or a slice of an SVG: its tensor, its coordinates (None for all), its rectangle."""

    text: str | None
    tensor: str
    at: At
    x: float
    y: float
    width: float
    height: float
    kinds: frozenset[str]

    def touches(self, point: Point) -> bool:
        """Whether a point lies on the border, to the width of a line."""
        x, y = point
        right, bottom = self.x + self.width, self.y + self.height
        is_within = self.x - 1 <= x <= right + 1 and self.y - 1 <= y <= bottom + 1
        near = min(abs(x - self.x), abs(x - right), abs(y - self.y), abs(y - bottom))
        return is_within and near <= 1

    def covers(self, point: Point) -> bool:
        """Whether a point lies well within the border."""
        x, y = point
        return (
            self.x + 2 < x < self.x + self.width - 2 and self.y + 2 < y < self.y + self.height - 2
        )

    def cells(self, shape: tuple[int, ...]) -> set[tuple[int, ...]]:
        """Return the coordinates of its cells in a tensor of a shape."""
        each = [range(size) if n is None else [n] for n, size in zip(self.at, shape, strict=True)]
        return set(product(*each))


class Way(NamedTuple):
    """An arrow of an SVG: what its ends name, and where its line begins, ends and runs."""

    source: Drawn
    target: Drawn
    start: Point
    end: Point
    points: list[Point]
    kinds: frozenset[str]


class Picture:
    """An SVG, read."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)  # noqa: S314  (our own)
        self.drawn = dict(self._drawn())
        self.ways = list(self._ways())

    def _drawn(self) -> Iterator[tuple[str, Drawn]]:
        for each in self.root.iter():
            kinds = frozenset(each.attrib.get("class", "").split())
            if not kinds & {"cell", "slice"}:
                continue
            box = each if each.tag == f"{SVG}rect" else each.find(f"{SVG}rect")
            assert box is not None
            x, y, width, height = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            tensor, *words = each.attrib["data-id"].split("-")
            if "slice" in kinds:
                tensor = each.attrib["data-tensor"]
                words = [word for word in each.attrib["data-at"].split(",") if word]
            at = tuple(None if word == ":" else int(word) for word in words)
            value = each.find(f"{SVG}text")
            text = None if value is None else value.text
            yield each.attrib["data-id"], Drawn(text, tensor, at, x, y, width, height, kinds)

    def _ways(self) -> Iterator[Way]:
        for each in self.root.iter(f"{SVG}path"):
            kinds = frozenset(each.attrib["class"].split())
            if "arrow" in kinds:
                source, target = (self.drawn[each.attrib[f"data-{end}"]] for end in ("from", "to"))
                line = each.attrib["d"].split("M")[1]  # the head follows
                numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", line)]
                start, end = (numbers[0], numbers[1]), (numbers[-2], numbers[-1])
                yield Way(source, target, start, end, [*points_of(each.attrib["d"])], kinds)

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return ["".join(each.itertext()) for each in self.root.iter(f"{SVG}text")]

    def tensor(self, name: str) -> dict[At, Drawn]:
        """Return the cells of a tensor by their coordinates."""
        each = self.drawn.values()
        return {one.at: one for one in each if one.tensor == name and "cell" in one.kinds}


def points_of(d: str, count: int = 24) -> Iterator[Point]:
    """Yield points along the line of an arrow, without its head."""
    here = (0.0, 0.0)
    for letter, words in re.findall(r"([MLQC])([^MLQC]*)", "M" + d.split("M")[1]):
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", words)]
        points = [here, *zip(numbers[::2], numbers[1::2], strict=True)]
        if letter != "M":
            for step in range(count + 1):
                yield _bezier(points, step / count)
        here = points[-1]


def _bezier(points: list[Point], part: float) -> Point:
    while len(points) > 1:
        points = [
            (one[0] + (other[0] - one[0]) * part, one[1] + (other[1] - one[1]) * part)
            for one, other in pairwise(points)
        ]
    return points[0]
