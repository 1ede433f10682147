"""Suggestions for arguments that are no tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("token", "meaning"),
    [
        ("np.arange(12).reshape(3,4)", "arange:3x4"),
        ("arange(5)", "arange:5"),
        ("range(5)", "arange:5"),
        ("zeros((3, 4))", "zeros:3x4"),
        ("zeros:[3,4]", "zeros:3x4"),
        ("\u201c1,2\u201d", "1,2"),
        ("\u2018x.npy\u2019", "x.npy"),
        ('"x.npy"', "x.npy"),
    ],
)
def test_a_tensor_in_python_syntax_or_other_quotes_is_translated_in_the_hint(
    token: str, meaning: str, run: Run
) -> None:
    run("convert", "[1]", "x.npy")

    ran = run("gather", token, "0")

    assert ran.status in (65, 66)
    assert f"hint: did you mean `{meaning}`?\n" in ran.err
    assert run("gather", meaning, "0").status == 0


def test_a_shape_without_values_and_an_empty_name_are_refused_in_plain_words(run: Run) -> None:
    shape, empty = run("gather", "3x4xf32", "0"), run("gather", "", "0")

    assert "hint: there are `arange:3x4xf32`, `zeros:3x4xf32` and `rand:3x4xf32`\n" in shape.err
    assert empty.err.startswith("error: `data`: the name of the file is empty: expected a file, ")
