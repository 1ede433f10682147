"""``python -m campaigns.sanitize 10000``: random calls of the kernel in C under ASan and UBSan.

A quarter of the calls are gathers, compared with numpy's way. Another quarter are plans of random
numbers on small buffers: each is refused or done, and the sanitizers say whether it left a buffer.
Both are tried with blocks as they are, and with blocks of a few positions. A quarter write floats,
compared with the standard library; the others follow beams, compared with numpy's way or in buffers
of any size.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import hatch_build
from gathercli.compute import kernel, native, result
from tests.compute.test_native import beams_trial, some_shape, trial
from tests.io.formats.test_json_in_c import WORDS, python_lists, some_floats

ROOT = Path(__file__).parents[1]
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-g", "-std=c99")
STRICT = ("-Wall", "-Wextra", "-Werror")
SMALL = (
    "-DBLOCK=7",
    "-DSLAB=40",
    "-DAHEAD=3",
    "-DNEAR=16",
    "-DFRESH=8",
    "-DSTREAM=64",
    "-DNEARBY=200",
    "-DGROUP=3",
    "-DROW=200",
    "-DLONG=8",
)
NUMBERS = (0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 100, -1, -8, 1 << 31, (1 << 31) - 1, 1 << 62, -(1 << 63))


def load(library: str) -> Any:
    """Return the functions of a library."""
    spec = importlib.util.spec_from_file_location("_native", library)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(fill: Any, choose: random.Random) -> None:
    """Try a gather at random."""
    call = trial(choose)
    native.fill = fill
    vars(kernel)["BLOCK_BYTES"] = choose.choice((200, 1 << 20))
    vars(result)["LEAST_SHARED_BYTES"] = choose.choice((0, 1 << 22))
    by_c = call.answer()
    native.fill = None
    if by_c != call.answer():
        raise SystemExit(f"C answers differently: {call}")


def attack(fill: Any, choose: random.Random) -> bool:
    """Try a plan at random; return whether it was done."""
    loops, axes = choose.randint(1, 3), choose.randint(1, 2)
    chunk = choose.choice((1, 2, 3, 4, 8, 16, 20, 32, 64, 80, 144))
    plan = [chunk, chunk * choose.randint(1, 3), choose.randrange(8), choose.randrange(4)]
    plan += [loops, axes]
    total = chunk
    for _ in range(loops):
        size = choose.randint(1, 5)
        plan += [size, choose.choice((0, chunk, 12)), choose.choice((0, 1, 8, 16))]
        total *= size
    for _ in range(axes):
        size = choose.randint(1, 4)
        plan += [size, choose.choice((0, size)), choose.randint(0, 3), choose.choice((0, 8))]
    if choose.random() < 0.5:
        plan[choose.randrange(len(plan))] = choose.choice(NUMBERS)
    if choose.random() < 0.1:
        plan = plan[: choose.randrange(len(plan))]
    data, indices = (np.zeros(choose.randint(1, 600), "u1") for _ in range(2))
    indices[:] = [choose.choice((0, 1, 2, 3, 255)) for _ in range(indices.size)]
    start = choose.choice((0, 0, 0, 1, 7, -1, 1 << 62))
    out = np.zeros(max(0, choose.choice((total - start, choose.randint(0, total)))), "u1")
    part, threads = choose.choice((1, 7, 64, 1 << 62)), choose.choice((1, 2, 3))
    try:
        fill(out, data, indices, np.array(plan, np.int64), start, part, threads)
    except ValueError:
        return False
    return True


def follow(fill_tree: Any, choose: random.Random) -> None:
    """Follow beams at random: those of a call, and elements of any bytes in buffers of any size."""
    call = beams_trial(choose)
    native.fill, native.fill_tree = fill_tree, fill_tree
    by_c = call.answer()
    native.fill = None
    if by_c != call.answer():
        raise SystemExit(f"C answers differently: {call}")
    sizes = [choose.choice((1, 2, 3, 7, choose.choice(NUMBERS))) for _ in range(3)]
    small = [min(7, max(0, size)) for size in sizes]
    cells, itemsize = small[0] * small[1] * small[2], choose.choice((1, 2, 4, 8))
    lengths = [each * itemsize for each in (cells, cells, cells, small[1], 1)]
    lengths[choose.randrange(5)] += choose.choice((0, 0, 0, 1, -1))
    buffers = [np.frombuffer(choose.randbytes(max(0, n)), "u1").copy() for n in lengths]
    if choose.random() < 0.5:  # of bytes at random no parent is likely to be a beam
        buffers[2][:] = 0
    try:
        fill_tree(choose.choice("bhiqBHIQfde?\0é"), *sizes, *buffers)
    except ValueError:
        return


def write(json_lists: Any, choose: random.Random) -> None:
    """Write floats at random."""
    numbers = np.random.default_rng(choose.getrandbits(32))
    shape = some_shape(choose, choose.randint(1, 4), 300)
    values = some_floats(numbers, shape, choose.choice(("f4", "f8")))
    if json_lists(values, WORDS) != python_lists(values):
        raise SystemExit(f"C writes differently: {values!r}")


def try_calls(library: str, seed: int, count: int) -> None:
    """Try `count` calls in this process."""
    module, choose, done = load(library), random.Random(seed), 0  # noqa: S311
    for number in range(count):
        if number % 4 == 1:
            compare(module.fill, choose)
        elif number % 4 == 2:
            write(module.json_lists, choose)
        elif number % 4 == 3:
            follow(module.fill_tree, choose)
        else:
            done += attack(module.fill, choose)
    print(f"{count} calls; {done} of {-(-count // 4)} random plans were within their buffers")


def main() -> None:
    """Compile the kernel with sanitizers, and try calls in processes that have preloaded them."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.sanitize")
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.library:
        try_calls(asked.library, asked.seed, asked.count)
        return
    compiler = os.environ.get("CC", "gcc")
    find = [compiler, "-print-file-name=libasan.so"]
    runtime = subprocess.run(find, capture_output=True, check=True, encoding="utf-8").stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
        "PYTHONMALLOC": "malloc",
    }
    with tempfile.TemporaryDirectory() as folder:
        for n, size in enumerate(((), SMALL)):
            library = Path(folder) / f"{n}.abi3.so"
            flags = (*FLAGS, *STRICT, *size)
            problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, library, flags)
            if problem:
                raise SystemExit(problem)
            words = [str(asked.count // 2), "--seed", str(asked.seed + n), "--library"]
            run = [sys.executable, "-m", "campaigns.sanitize", *words, str(library)]
            subprocess.run(run, cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    main()
