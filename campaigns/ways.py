"""The same words through every way: small calls or arrays, or bytes."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import numpy as np

from gathercli.cli.main import main
from gathercli.compute.small import MOST_STEPS
from gathercli.ops import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = ("bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64")
SPECIAL = ("NaN", "Infinity", "-0.0", "1e39", "true", '"x"', "2.5", "9223372036854775808")


class Outcome(NamedTuple):
    """The exit status, what went to stdout and stderr, and the files in the folder."""

    status: int
    out: bytes
    err: bytes
    files: dict[str, bytes]


@contextmanager
def _by_arrays() -> Iterator[None]:
    """Compute, read and write everything with arrays."""
    with ExitStack() as stack:
        stack.enter_context(patch("gathercli.compute.small.MOST_STEPS_WITH_NUMPY", -1))
        stack.enter_context(patch("gathercli.compute.small.MOST_STEPS", -1))
        stack.enter_context(patch("gathercli.compute.tensor.MOST_PACKED_VALUES", -1))
        stack.enter_context(patch("gathercli.compute.tensor.MOST_TEXTS", -1))
        stack.enter_context(patch("gathercli.io.formats.literal.MOST_PACKED_VALUES", -1))
        stack.enter_context(patch("gathercli.io.formats.npy.SHORT_RESULT_BYTES", -1))
        stack.enter_context(patch("gathercli.io.formats.npy.ordinary_layout", lambda _: None))
        yield


@contextmanager
def _from_bytes() -> Iterator[None]:
    """Compute all that is small from bytes, as a process does without numpy."""
    with patch("gathercli.compute.small.MOST_STEPS_WITH_NUMPY", MOST_STEPS):
        yield


WAYS = {"by arrays": _by_arrays, "from bytes": _from_bytes}


def words(seed: int) -> str:
    """Draw a command line, and compare what each way answers with the ordinary answer."""
    draw = random.Random(seed)  # noqa: S311
    files = _files(draw)
    line = _line(draw, list(files))

    expected = _outcome(line, files)

    for name, way in WAYS.items():
        with way():
            outcome = _outcome(line, files)
        assert outcome == expected, f"{name}: {line}"
    return f"status {expected.status}"


def _files(draw: random.Random) -> dict[str, bytes]:
    """Draw a .npy file, a JSON file and a file of raw bytes."""
    shape = [draw.choice((0, 2, 3, 4)) for _ in range(draw.choice((0, 1, 2, 2, 3)))]
    array = np.array(draw.choices(range(-3, 4), k=int(np.prod(shape)))).reshape(shape)
    array = array.astype(draw.choice(TYPES))
    if draw.random() < 0.2:
        array = np.asfortranarray(array)
    with tempfile.TemporaryFile() as file:
        np.save(file, array)
        file.seek(0)
        npy = file.read()
    if draw.random() < 0.05:
        npy = npy[: draw.randrange(len(npy))]
    return {"d.npy": npy, "x.json": _list(draw).encode(), "x.bin": bytes(range(24))}


def _list(draw: random.Random) -> str:
    """Draw a list in JSON, sometimes ragged or of special values."""
    shape = [draw.randrange(2, 5) for _ in range(draw.choice((0, 1, 2, 2, 2, 3)))]

    def nested(sizes: list[int]) -> str:
        if not sizes:
            special = draw.random() < 0.03
            return draw.choice(SPECIAL) if special else str(draw.randrange(-3, 4))
        size = sizes[0] + (draw.random() < 0.02)
        return f"[{','.join(nested(sizes[1:]) for _ in range(size))}]"

    return nested(shape)


def _token(draw: random.Random, files: list[str]) -> str:
    """Draw a tensor argument."""
    kind = draw.randrange(8)
    if kind < 3:
        return _list(draw)
    if kind == 3:
        return draw.choice(files)
    sizes = "x".join(str(draw.randrange(5)) for _ in range(draw.randrange(1, 4)))
    short = draw.choice(("i64", "f32", "f16", "bf16", "u8", "bool", "i32", "f64", "c64", "i4"))
    if kind == 4:
        return f"{sizes}x{short}={draw.choice(('0', '1', '0.1', '-2', 'true', '[0 1]'))}"
    if kind == 5:
        return f"{draw.choice(('arange', 'zeros'))}:{sizes}x{short}"
    if kind == 6:
        return f"bin:2x3x{draw.choice(('f32', 'i32', 'u8', 'bf16'))}@x.bin"
    return ",".join(str(draw.randrange(-2, 3)) for _ in range(draw.randrange(1, 4)))


def _indices(draw: random.Random) -> str:
    """Draw indices that are mostly legal."""
    number = draw.randrange(1, 4)
    one = f"[{','.join(str(draw.choice((0, 0, 1, 1, -1, 2, 7))) for _ in range(number))}]"
    return draw.choice((one, f"[{one},{one}]", one[1:-1], f"{number}xi64={one}", f"[[{one}]]", "0"))


def _line(draw: random.Random, files: list[str]) -> list[str]:
    """Draw a command line of an operator, sometimes wrong."""
    op = draw.choice(OPERATORS)
    tokens = [
        _indices(draw) if each.values and draw.random() < 0.9 else _token(draw, files)
        for each in op.inputs
    ]
    line = [op.family, *tokens, "-V", op.id]
    if draw.random() < 0.1:
        line.insert(0, "shape")
    if bool(op.attr("axis")) ^ (draw.random() < 0.03):
        line += ["-a", str(draw.choice((0, 0, 0, 1, -1, 2)))]
    options = {
        "-b": ["0", "1", "-1"],
        "--negative": ["spec", "wrap", "error"],
        "--out-of-range": ["spec", "error", "zero", "clamp", "wrap"],
        "-f": ["json", "oip", "npy", "literal", "json"],
        "-o": ["out.npy", "out.json", "out.bin", "out.txt"],
        "--nonfinite": ["quoted", "bare", "null", "error"],
        "--data-dtype": ["float32", "int64", "bfloat16", "float16", "int"],
        "--indices-dtype": ["int64", "int32"],
        "--expect": [_list(draw)],
    }
    for option, values in options.items():
        if draw.random() < (0.15 if option in ("--out-of-range", "-f", "-o") else 0.04):
            line += [option, draw.choice(values)]
    if draw.random() < 0.1:
        line.append(draw.choice(("--json-errors", "-q", "--color=always", "-x", "--no-clobber")))
    return line


def _outcome(line: list[str], files: dict[str, bytes]) -> Outcome:
    """Run a command line in this process, in a folder of these files."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        stack.callback(os.chdir, before)
        os.chdir(folder)
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        status = _redirected(line, [stream.fileno() for stream in streams])
        for stream in streams:
            stream.seek(0)
        out, err = (stream.read() for stream in streams)
        return Outcome(status, out, err, {at.name: at.read_bytes() for at in folder.iterdir()})


def _redirected(line: list[str], targets: list[int]) -> int:
    """Run a command line with stdout and stderr at these descriptors."""
    with ExitStack() as stack:
        for fd, target in enumerate(targets, 1):
            saved = os.dup(fd)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, fd)
            os.dup2(target, fd)
        status = main(line)
        sys.stdout.flush()
        sys.stderr.flush()
    return status
