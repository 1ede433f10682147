"""Colours for numbers: ramps of even steps in OKLab, so that equal steps look equally far apart.

Lightness grows along the one for numbers from low to high, and falls on both sides of zero along
the other, so that both can be read without hue.

Björn Ottosson, "A perceptual color space for image processing", 2020.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, inf, radians, sin
from typing import Final, NamedTuple

STEPS: Final = 64
"""Colours of a ramp, apart from the one of zero."""

_CHROMA_STEP: Final = 0.002

_RISING: Final = (17, 18, 19, 24, 30, 36, 78, 150, 192, 229)
_DIVERGING: Final = (25, 32, 74, 117, 189, 255, 223, 216, 173, 166, 130)
"""Colours of terminals along both ramps, in the same order of lightness."""

_MIDDLE: Final = 0.179
"""The luminance on which black and white have one contrast, 4.58:1."""


class Color(NamedTuple):
    """A colour.

    Attributes
    ----------
    code
        ``#rrggbb``.
    number
        A similar one of those that terminals of 256 colours agree on.
    is_light
        Whether black text is easier to read on it than white text.
    """

    code: str
    number: int
    is_light: bool


class Scale(NamedTuple):
    """The colours of numbers from `low` to `high`; zero is in the middle of those of both signs.

    >>> Scale.of(1, 5), Scale.of(-1, 5)
    (Scale(low=1, high=5), Scale(low=-5, high=5))
    """

    low: float
    high: float

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """Return a scale for finite numbers from `low` to `high`."""
        size = max(abs(low), abs(high))
        return cls(-size, size) if low < 0 < high else cls(low, high)

    @property
    def diverges(self) -> bool:
        """Whether both signs have colours of their own."""
        return self.low < 0 < self.high

    def place(self, value: float) -> float:
        """Return the place of a number on the scale, from 0 to 1.

        >>> Scale(-1e308, 1e308).place(0), Scale(3, 3).place(3)
        (0.5, 0.5)
        """
        if self.low == self.high:
            return 0.5
        half = 0.5 if self.high - self.low == inf else 1.0
        width = self.high * half - self.low * half
        return min(1.0, max(0.0, (value * half - self.low * half) / width))

    def color(self, value: float) -> Color:
        """Return the colour of a number."""
        return self.at(self.place(value))

    def at(self, place: float) -> Color:
        """Return the colour of a place from 0 to 1."""
        return color(round(place * STEPS) / STEPS, diverges=self.diverges)


@lru_cache(2 * STEPS + 2)
def color(place: float, *, diverges: bool) -> Color:
    """Return the colour of a place from 0 to 1 on a ramp.

    >>> color(0.0, diverges=False)
    Color(code='#26005f', number=17, is_light=False)
    >>> color(0.5, diverges=True)
    Color(code='#eeeeee', number=255, is_light=True)
    """
    numbers = _DIVERGING if diverges else _RISING
    number = numbers[min(len(numbers) - 1, int(place * len(numbers)))]
    if diverges:
        distance = abs(2 * place - 1)
        return _color(number, 0.95 - 0.5 * distance, 0.17 * distance, 255 if place < 0.5 else 45)
    return _color(number, 0.25 + 0.68 * place, 0.15, 290 - 185 * place)


def _color(number: int, lightness: float, chroma: float, hue: float) -> Color:
    """Return the colour with at most a chroma that a screen can show."""
    while True:
        linear = _linear(lightness, chroma, hue)
        if all(-1e-4 <= each <= 1 + 1e-4 for each in linear):
            break
        chroma -= _CHROMA_STEP
    code = "".join(f"{round(255 * _encoded(min(1.0, max(0.0, each)))):02x}" for each in linear)
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return Color(f"#{code}", number, luminance > _MIDDLE)


def _linear(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    """Return linear red, green and blue, outside 0 to 1 if a screen cannot show the colour."""
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _encoded(linear: float) -> float:
    """Return a linear value as sRGB encodes it."""
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
