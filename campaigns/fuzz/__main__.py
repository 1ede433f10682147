"""``python -m campaigns.fuzz TARGET [FILE...] [--seconds N] [--corpus FOLDER]``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from hashlib import sha1
from importlib import import_module
from pathlib import Path
from typing import Any, Final

NEEDED: Final = "fuzzing needs atheris: pip install 'gathercli[fuzz]'"
CHILD: Final = "--inside"
MEMORY: Final = 1024
"""Megabytes that a target may take."""

SECONDS: Final = 2
"""How long an input may take."""


def main() -> int:
    """Fuzz, or run a target on files."""
    if sys.argv[1:2] == [CHILD]:
        return _inside(sys.argv[2], sys.argv[3:])
    warnings.simplefilter("error")
    targets = import_module("campaigns.fuzz.targets").TARGETS
    parser = argparse.ArgumentParser(prog="python -m campaigns.fuzz", description=__doc__)
    parser.add_argument("target", choices=[*targets, "all"])
    parser.add_argument("files", nargs="*", type=Path, help="inputs to run, without a fuzzer")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--corpus", type=Path, help="a folder that keeps what was found")
    given = parser.parse_args()
    if given.files:
        return _replayed(targets[given.target], given.files)
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit(NEEDED)
    folder = given.corpus or Path(tempfile.mkdtemp(prefix="gathercli-fuzz-"))
    chosen = list(targets) if given.target == "all" else [given.target]
    found = [_fuzzed(name, folder.resolve(), given.seconds) for name in chosen]
    if given.corpus is None and not any(found):
        shutil.rmtree(folder)
    return 1 if any(found) else 0


def _replayed(target: Any, files: list[Path]) -> int:
    """Run a target on files; return whether it failed."""
    failed = False
    for file in files:
        try:
            target(file.read_bytes())
        except Exception:  # noqa: BLE001  (whatever it is, it was found)
            failed = True
            print(f"{file}: {traceback.format_exc()}")
        else:
            print(f"{file}: fine")
    return int(failed)


def _fuzzed(name: str, folder: Path, seconds: int) -> list[Path]:
    """Fuzz one target in a process of its own; return the inputs on which it failed."""
    corpus, found, log = folder / name, folder / f"{name}-found", folder / f"{name}.log"
    words = folder / f"{name}.words"
    for each in (corpus, found):
        each.mkdir(parents=True, exist_ok=True)
    seeds = import_module("campaigns.fuzz.seeds")
    for raw in seeds.SEEDS[name]():
        (corpus / sha1(raw, usedforsecurity=False).hexdigest()).write_bytes(raw)
    words.write_text("".join(f'"{word}"\n' for word in seeds.WORDS[name]), encoding="utf-8")
    before = set(found.iterdir())
    options = [
        *(f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEMORY}"),
        *("-max_len=4096", "-print_final_stats=1", f"-dict={words}", f"-artifact_prefix={found}/"),
    ]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  (is in memory)
    with tempfile.TemporaryDirectory(dir=memory) as scratch, log.open("wb") as out:
        status = subprocess.run(
            [sys.executable, "-m", "campaigns.fuzz", CHILD, name, *options, str(corpus)],
            stdout=out,
            stderr=out,
            check=False,
            env={**os.environ, "TMPDIR": scratch},  # a killed one leaves its files there
        ).returncode
    new = sorted(set(found.iterdir()) - before)
    text = log.read_text(errors="replace")
    print(f"{name}: {_numbers(text)}, {len(new)} found")
    for each in new:
        print(f"{each}\n  again: python -m campaigns.fuzz {name} {each}")
    if new or status:
        print(f"  all that was said: {log}")
        print(text[-3000:] if status and not new else "".join(_reason(text)))
    return new or [log] * bool(status)


def _numbers(log: str) -> str:
    runs = re.findall(r"number_of_executed_units: (\d+)", log)
    speed = re.findall(r"average_exec_per_sec: +(\d+)", log)
    cover = re.findall(r"cov: (\d+) ft: (\d+)", log)
    if not (runs and speed and cover):
        return "ended early"
    edges, features = cover[-1]
    return f"{runs[-1]} inputs, {speed[-1]} a second, {edges} edges, {features} features"


def _reason(log: str) -> list[str]:
    lines = log.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if "Uncaught Python exception" in line]
    return lines[starts[-1] : starts[-1] + 40] if starts else []


def _inside(name: str, options: list[str]) -> int:
    """Be the fuzzer: never returns."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        raise SystemExit(NEEDED) from None
    watched = ["gathercli", "zipfile", "numpy.lib._format_impl", "numpy.lib.format"]
    with atheris.instrument_imports(include=watched):
        target = import_module("campaigns.fuzz.targets").TARGETS[name]
    warnings.simplefilter("error")
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()
    return os.EX_SOFTWARE


if __name__ == "__main__":
    raise SystemExit(main())
