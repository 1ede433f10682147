"""`--max-bytes`: the limits of memory and of a result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from gathercli.cli.options import MOST_RESULT_BYTES, Limits
from gathercli.io import files
from tests.conftest import only_error

if TYPE_CHECKING:
    from tests.conftest import Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("size", "status"),
    [
        ("0", 0),
        ("8000", 0),
        ("7999", 65),
        ("8K", 0),
        ("7K", 65),
        ("8Ki", 0),
        ("1M", 0),
        ("1Mi", 0),
        ("1G", 0),
        ("1Gi", 0),
    ],
)
def test_max_bytes_takes_units_and_limits_memory(size: str, status: int, run: Run) -> None:
    ran = run("gather", "zeros:1000", "0", "--max-bytes", size)
    assert ran.status == status
    if status:
        assert "takes 8000 bytes: expected at most" in only_error(ran)
        assert "`--max-bytes 0` lifts the limit" in ran.err
        assert ran.err.endswith("rule: limit\n")


def test_max_bytes_limits_standard_input_files_members_and_the_result(
    run: Run, folder: Path
) -> None:
    np.save(folder / "a.npy", np.zeros(1000))
    np.savez_compressed(folder / "a.npz", a=np.zeros(1000))
    (folder / "a.json").write_text(json.dumps([0] * 1000))
    limit = ("--max-bytes", "1K")
    assert run("gather", "a.npy", "0", *limit).status == 0  # mapped, not held
    for token, stdin in (("a.npz", b""), ("a.json", b""), ("-", b" " * 2000 + b"[1]")):
        ran = run("gather", token, "0", *limit, stdin=stdin)
        assert ran.status == 65
        assert ran.err.endswith("rule: limit\n")
    ran = run("gather", "a.npy", "zeros:129", *limit, "--data-dtype", "f64")
    assert ran.status == 65
    assert "expected at most 1000" in only_error(ran)


def test_a_result_that_is_too_large_is_refused_before_it_is_allocated(
    run: Run, folder: Path
) -> None:
    np.save(folder / "a.npy", np.zeros((0, 1 << 33), np.int8))

    ran = run("gather", "a.npy", "[0,0,0]", "-f", "npy")

    assert ran.status == 65
    assert ran.err.endswith("rule: limit\n")


GATHER: Final = ("gather", "[5,6,7]", "[2,0]")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7),
        ("7K", 7_000),
        ("7M", 7_000_000),
        ("7G", 7_000_000_000),
        ("7Ki", 7_168),
        ("7Mi", 7_340_032),
        ("7Gi", 7_516_192_768),
        ("9" * 18, 999_999_999_999_999_999),
    ],
)
def test_max_bytes_limits_the_bytes_in_memory_and_in_the_output(text: str, size: int) -> None:
    assert Limits.parse(text) == Limits(size, size, explicit=True)


def test_a_limit_of_nineteen_digits_is_a_usage_error(run: Run) -> None:
    assert run(*GATHER, "--max-bytes", "9" * 18).out == "[7,5]\n"

    ran = run(*GATHER, "--max-bytes", "9" * 19)

    assert (ran.status, ran.out) == (2, "")


def test_without_a_limit_half_the_memory_is_held_and_sixteen_gibibytes_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "free_memory", lambda: 1001)

    assert Limits.parse(None) == Limits(500, MOST_RESULT_BYTES)
    assert MOST_RESULT_BYTES == 17_179_869_184


def test_zero_lifts_both_limits() -> None:
    assert Limits.parse("0") == Limits(None, None, explicit=True)
