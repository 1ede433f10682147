from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest

from gathercli.explain.terminal.ramps import STEPS, Scale, color


def linear(value: int) -> float:
    """Return a component of sRGB as WCAG 2.2 decodes it."""
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(code: str) -> float:
    red, green, blue = (linear(int(code[n : n + 2], 16)) for n in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def terminal_code(number: int) -> str:
    """Return a colour of the 6 by 6 by 6 cube, or of the greys, of 256 colours."""
    if number >= 232:
        return f"#{f'{8 + 10 * (number - 232):02x}' * 3}"
    levels = (0, 95, 135, 175, 215, 255)
    cube = number - 16
    return "#" + "".join(f"{levels[n]:02x}" for n in (cube // 36, cube // 6 % 6, cube % 6))


def rises(values: list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def test_lightness_grows_from_low_to_high() -> None:
    colors = [color(n / STEPS, diverges=False) for n in range(STEPS + 1)]
    numbers = list(dict.fromkeys(each.number for each in colors))

    assert rises([luminance(each.code) for each in colors])
    assert rises([luminance(terminal_code(each)) for each in numbers])


def test_lightness_falls_on_both_sides_of_zero() -> None:
    colors = [color(n / STEPS, diverges=True) for n in range(STEPS + 1)]
    half = STEPS // 2
    numbers = list(dict.fromkeys(each.number for each in colors))
    middle = len(numbers) // 2

    assert rises([luminance(each.code) for each in colors[: half + 1]])
    assert rises([luminance(each.code) for each in reversed(colors[half:])])
    assert rises([luminance(terminal_code(each)) for each in numbers[: middle + 1]])
    assert rises([luminance(terminal_code(each)) for each in reversed(numbers[middle:])])


def test_the_signs_differ_for_readers_who_see_no_red_or_no_green() -> None:
    low, high = (color(place, diverges=True).code for place in (0.0, 1.0))

    # blue remains: much of it below zero, little above
    assert int(low[5:], 16) > 128 > int(high[5:], 16)


@pytest.mark.parametrize("diverges", [True, False])
def test_text_in_black_or_white_is_readable_on_every_color(diverges: bool) -> None:
    for n in range(STEPS + 1):
        each = color(n / STEPS, diverges=diverges)
        ground = luminance(each.code)
        contrast = (ground + 0.05) / 0.05 if each.is_light else 1.05 / (ground + 0.05)

        assert contrast >= 4.5


def test_zero_is_in_the_middle_of_numbers_of_both_signs() -> None:
    scale = Scale.of(-1, 4)

    assert scale == (-4, 4)
    assert scale.place(0) == 0.5
    assert not Scale.of(0, 4).diverges


def test_no_number_overflows_or_leaves_the_scale() -> None:
    largest = 1.7976931348623157e308

    assert Scale.of(-largest, largest).place(largest) == 1.0
    assert Scale.of(0, 5e-324).place(5e-324) == 1.0
    assert Scale(0, 1).place(inf) == 1.0
    assert Scale(2, 2).place(2) == 0.5
