"""`--max-bytes`: the limits of memory and of a result."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import only_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

    Run = Callable[..., Ran]
    Program = Callable[..., subprocess.CompletedProcess[bytes]]


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
