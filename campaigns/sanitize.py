"""``python -m campaigns.sanitize 10000``: random calls of the kernel in C under sanitizers.

A quarter of the calls are gathers, compared with numpy's way. Another quarter are plans of random
numbers on small buffers: each is refused or done, and the sanitizers say whether it left a buffer.
Both are tried with blocks as they are, and with blocks of a few positions. A quarter write floats,
compared with the standard library; the others follow beams, compared with numpy's way or in buffers
of any size.

These calls run under AddressSanitizer and UndefinedBehaviorSanitizer, one after the other. Under
ThreadSanitizer a few callers make gathers and random plans at once, with threads that stay between
calls and, with the small blocks, end as soon as there is nothing to do.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import hatch_build
from gathercli.compute import kernel, native, result
from tests.compute.test_native import LARGEST, Trial, beams_trial, sized_trial, some_shape, trial
from tests.io.formats.test_json_in_c import WORDS, python_lists, some_floats

ROOT = Path(__file__).parents[1]
FLAGS = ("-fno-sanitize-recover=all", "-O1", "-g", "-std=c99")
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
    "-DIDLE=0",
)
SANITIZERS = {
    "address,undefined": ("libasan.so", {"ASAN_OPTIONS": "detect_leaks=0"}),  # the interpreter's
    "thread": ("libtsan.so", {"TSAN_OPTIONS": "halt_on_error=1"}),
}
"""The library that the interpreter must have loaded first, and its options."""

CALLERS = 4
NUMBERS = (0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 100, -1, -8, 1 << 31, (1 << 31) - 1, 1 << 62, -(1 << 63))


def load(library: str) -> Any:
    """Return the functions of a library."""
    spec = importlib.util.spec_from_file_location("_native", library)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(module: Any, choose: random.Random) -> None:
    """Try a gather at random, and calls alike on arrays of other sizes."""
    call = trial(choose)
    native.fill, native.fill_again = module.fill, module.fill_again
    vars(kernel)["BLOCK_BYTES"] = choose.choice((200, 1 << 20))
    vars(result)["LEAST_SHARED_BYTES"] = choose.choice((0, 1 << 22))
    native._plans.clear()
    calls = [call, call, *(sized_trial(choose, call) for _ in range(3))]
    by_c = [each.answer() for each in calls]
    native.fill = None
    if by_c != [each.answer() for each in calls]:
        raise SystemExit(f"C answers differently: {calls}")
    numbers = [choose.choice((*range(5), 64, 65, *NUMBERS)) for _ in range(choose.randint(0, 24))]
    signature = np.array(numbers, np.int64)
    for plan in list(native._plans.values()):
        if plan is not None and choose.random() < 0.8:
            signature = np.array(plan.args[0])  # type: ignore[attr-defined]
            signature[choose.randrange(signature.size)] = choose.choice((*range(5), *NUMBERS))
    module.fill_again(signature, small_empty, call.inputs[0].dtype, None, *call.inputs)


def small_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Make an array, unless it is large."""
    return np.empty(shape, dtype) if math.prod(shape) < LARGEST else None


def attack(fill: Any, choose: random.Random) -> bool:
    """Try a plan at random; return whether it was done."""
    loops, axes = choose.randint(1, 3), choose.randint(1, 4)
    chunk = choose.choice((1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 64, 80, 144))
    index_type = choose.randrange(8)
    itemsize, adjacent = 1 << index_type % 4, choose.random() < 0.5
    plan = [chunk, chunk * choose.choice((1, 1, 2, 3)), index_type, choose.randrange(4)]
    plan += [loops, axes]
    total = chunk
    for _ in range(loops):
        size = choose.randint(1, 5)
        plan += [size, choose.choice((0, chunk, 12)), choose.choice((0, 1, 8, axes * itemsize))]
        total *= size
    for n in range(axes):
        size = choose.randint(1, 4)
        offset = n * itemsize if adjacent else choose.choice((0, 8))
        plan += [size, choose.choice((0, size)), choose.randint(0, 3), offset]
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
            compare(module, choose)
        elif number % 4 == 2:
            write(module.json_lists, choose)
        elif number % 4 == 3:
            follow(module.fill_tree, choose)
        else:
            done += attack(module.fill, choose)
    print(f"{count} calls; {done} of {-(-count // 4)} random plans were within their buffers")


def try_at_once(library: str, seed: int, count: int) -> None:
    """Try `count` calls, some at the same time: a gather and a plan by each caller in turn."""
    module, choose = load(library), random.Random(seed)  # noqa: S311
    callers = ThreadPoolExecutor(CALLERS)
    for _ in range(0, count, 2 * CALLERS):
        seeds = [choose.getrandbits(32) for _ in range(CALLERS)]
        calls = [trial(random.Random(each)) for each in seeds]  # noqa: S311
        native.fill = None
        vars(kernel)["BLOCK_BYTES"] = choose.choice((200, 1 << 20))
        vars(result)["LEAST_SHARED_BYTES"] = choose.choice((0, 0, 1 << 22))
        by_numpy = [call.answer() for call in calls]
        native.fill = module.fill
        plans = [callers.submit(attack, module.fill, random.Random(each)) for each in seeds]  # noqa: S311
        for call, answer, by_c in zip(
            calls, by_numpy, callers.map(Trial.answer, calls), strict=True
        ):
            if by_c != answer:
                raise SystemExit(f"C answers differently: {call}")
        for plan in plans:
            plan.result()
    print(f"{count} calls, {2 * CALLERS} at once")


def main() -> None:
    """Compile the kernel with sanitizers, and try calls in processes that have preloaded them."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.sanitize")
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    parser.add_argument("--at-once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.library:
        (try_at_once if asked.at_once else try_calls)(asked.library, asked.seed, asked.count)
        return
    with tempfile.TemporaryDirectory() as folder:
        for sanitizer in SANITIZERS:
            for n, size in enumerate(((), SMALL)):
                library = Path(folder) / f"{sanitizer}{n}.abi3.so"
                flags = (*FLAGS, f"-fsanitize={sanitizer}", *STRICT, *size)
                problem = hatch_build.compile_kernel(ROOT / hatch_build.SOURCES, library, flags)
                if problem:
                    raise SystemExit(problem)
                words = [str(asked.count // 2), "--seed", str(asked.seed + n)]
                words += ["--at-once"] if sanitizer == "thread" else []
                run = [sys.executable, "-m", "campaigns.sanitize", *words, "--library"]
                environment = os.environ | settings(sanitizer)
                subprocess.run([*run, str(library)], cwd=ROOT, env=environment, check=True)


def settings(sanitizer: str) -> dict[str, str]:
    """Return what the environment of an interpreter has, for it to load the library first."""
    library, options = SANITIZERS[sanitizer]
    find = [os.environ.get("CC", "gcc"), f"-print-file-name={library}"]
    found = subprocess.run(find, capture_output=True, check=True, encoding="utf-8").stdout.strip()
    return {"LD_PRELOAD": found, "PYTHONMALLOC": "malloc", **options}


if __name__ == "__main__":
    main()
