"""The colours of letters: contrast, and what the colour-blind see of them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from rich.color import Color, ColorSystem

from gathercli.explain.drawing.svg import DARK, LIGHT
from gathercli.explain.panel import (
    HUES,
    ON_FILL,
    ON_REFUSED,
    PLAIN_HUES,
    REFUSED_ON_DARK,
    REFUSED_ON_LIGHT,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.storage import AnyArray

READABLE: Final = 4.5
"""The least contrast of text: WCAG 2.2, success criterion 1.4.3."""

FILLS: Final = [hue.fill for hue in HUES]
INKS: Final = [hue.ink for hue in HUES]

VISIONS: Final[dict[str, Any]] = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What an eye sees of linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model
for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table 1, severity 1.0."""

LMS: Final = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OKLAB: Final = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
"""Linear RGB to cones, their cube roots to OKLab: Ottosson, "A perceptual color space for image
processing", 2020."""


def linear(color: str) -> AnyArray:
    """Return linear RGB of ``#rrggbb``, each from 0 to 1 (IEC 61966-2-1)."""
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21: WCAG 2.2, "contrast ratio"."""
    weights = (0.2126, 0.7152, 0.0722)
    low, high = sorted(float(linear(color) @ weights) + 0.05 for color in (one, other))
    return high / low


def nearest(colors: Sequence[str], vision: str) -> float:
    """Return the distance in OKLab of the two colours that look most alike."""
    seen = [np.clip(np.array(VISIONS[vision]) @ linear(color), 0, 1) for color in colors]
    points = [OKLAB @ np.cbrt(LMS @ each) for each in seen]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(points, 2))


def test_contrast_and_distance_are_those_of_their_definitions() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert nearest(["#ffffff", "#000000"], "normal") == pytest.approx(1, abs=1e-6)
    assert nearest(["#ff0000", "#00ff00"], "normal") == pytest.approx(0.52, abs=0.005)
    confused = ["#d00000", "#6a6a00"]
    assert nearest(confused, "protanopia") < nearest(confused, "normal") / 2


@pytest.mark.parametrize("hue", HUES, ids=lambda hue: hue.name)
def test_text_of_every_hue_is_readable(hue: Any) -> None:
    assert contrast(ON_FILL, hue.fill) >= READABLE
    assert contrast(hue.fill, DARK.page) >= READABLE
    assert contrast(hue.fill, "#000000") >= READABLE
    assert contrast(hue.ink, LIGHT.page) >= READABLE


def test_what_is_refused_is_readable() -> None:
    assert contrast(ON_REFUSED, REFUSED_ON_LIGHT) >= READABLE
    assert contrast(REFUSED_ON_LIGHT, LIGHT.page) >= READABLE
    assert contrast(REFUSED_ON_DARK, DARK.page) >= READABLE


HALVES: Final = [slice(None, PLAIN_HUES), slice(PLAIN_HUES, None)]
"""The plain hues, and the striped ones; a stripe tells the halves apart."""
halves = pytest.mark.parametrize("half", HALVES, ids=["plain", "striped"])


@halves
@pytest.mark.parametrize("vision", VISIONS)
def test_no_two_hues_look_alike(vision: str, half: slice) -> None:
    """In OKLab a distance of 0.02 is about the smallest that is seen side by side."""
    assert nearest([*FILLS[half], REFUSED_ON_LIGHT], vision) > 0.12
    assert nearest(INKS[half], vision) > 0.09


def test_twelve_hues_differ_without_their_stripes_too() -> None:
    assert len(HUES) == 12
    assert nearest(FILLS, "normal") > 0.1


@pytest.mark.parametrize("refused", [REFUSED_ON_LIGHT, REFUSED_ON_DARK])
def test_no_hue_is_near_the_red_of_refusal(refused: str) -> None:
    for color in FILLS:
        assert nearest([color, refused], "normal") > 0.14


def test_stripes_leave_a_value_readable() -> None:
    for hue in HUES[PLAIN_HUES:]:
        pairs = zip(bytes.fromhex(hue.fill[1:]), bytes.fromhex(hue.ink[1:]), strict=True)
        striped = "".join(f"{round(fill * 0.65 + ink * 0.35):02x}" for fill, ink in pairs)
        assert contrast(ON_FILL, f"#{striped}") >= READABLE, hue


@halves
def test_sixteen_colours_keep_the_fills_apart_and_bright_enough_for_black(half: slice) -> None:
    numbers = [Color.parse(fill).downgrade(ColorSystem.STANDARD).number for fill in FILLS[half]]

    assert len(set(numbers)) == len(HUES[half])
    # Black cannot be read on black, red, blue, magenta and dark grey.
    assert not {0, 1, 4, 5, 8} & set(map(int, filter(None, numbers)))


@halves
def test_256_colours_keep_the_fills_apart_and_readable(half: slice) -> None:
    colors = [Color.parse(fill).downgrade(ColorSystem.EIGHT_BIT) for fill in FILLS[half]]
    hexes = [color.get_truecolor().hex for color in colors]

    assert all(contrast(ON_FILL, color) >= READABLE for color in hexes)
    assert min(nearest(hexes, vision) for vision in VISIONS) > 0.1
