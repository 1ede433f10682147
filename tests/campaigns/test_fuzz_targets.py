"""Every fuzz target on its seeds, on changes of them, and on what fuzzing has found."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from campaigns.fuzz.seeds import SEEDS, WORDS, archived, npy_bytes
from campaigns.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

CHANGES: Final = 300
"""Changed inputs for each target."""

FOUND: Final[list[tuple[str, bytes, str]]] = [
    ("npz", archived({"a.npy.npy": npy_bytes()}), "the member `a.npy` could not be named"),
    (
        "json",
        b'{"shape":[9223372036854775807,0,9],"datatype":"INT8","data":[]}',
        "numpy's ValueError escaped: the shape spans more than can be addressed",
    ),
    (
        "json",
        b'{"shape":[4611686018427387904,0],"datatype":"BYTES","data":[]}',
        "numpy's ValueError escaped: strings of that shape span too much",
    ),
    (
        "json",
        b'{"shape":[' + b"1," * 64 + b'1],"datatype":"INT8","data":[1]}',
        "numpy's ValueError escaped: the shape has rank 65",
    ),
]
"""A target, an input, and what was wrong with what the program made of it."""


def word(spelt: str) -> bytes:
    r"""Read a word as libFuzzer's dictionaries spell it, with \xNN, \" and \\."""
    return spelt.encode().decode("unicode_escape").encode("latin-1")


def changed(draw: random.Random, corpus: list[bytes], words: list[bytes]) -> bytes:
    """Change a seed in one to four places."""
    raw = bytearray(draw.choice(corpus))
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randint(0, len(raw)), draw.choice((1, 1, 2, 4, 16))
        how = draw.randrange(7)
        if how == 0:
            del raw[at : at + size]
        elif how == 1:
            raw[at:at] = draw.choice(words)
        elif how == 2:
            raw[at : at + size] = draw.choice(words)
        elif how == 3:
            raw[at : at + size] = draw.randbytes(size)
        elif how == 4:
            other = draw.choice(corpus)
            start = draw.randint(0, len(other))
            raw[at : at + size] = other[start : start + 16]
        elif how == 5 and at < len(raw):
            raw[at] ^= 1 << draw.randrange(8)
        else:
            del raw[len(raw) - draw.randint(0, min(9, len(raw))) :]
    return bytes(raw)


each_target = pytest.mark.parametrize("name", TARGETS)


@each_target
def test_a_target_takes_its_seeds(name: str) -> None:
    corpus = list(SEEDS[name]())
    assert len(corpus) >= 10
    for raw in corpus:
        TARGETS[name](raw)


@each_target
def test_a_target_takes_seeds_with_changes(name: str) -> None:
    draw, corpus = random.Random(0), list(SEEDS[name]())  # noqa: S311  (the same every time)
    words = list(map(word, WORDS[name]))
    for _ in range(CHANGES):
        raw = changed(draw, corpus, words)
        try:
            TARGETS[name](raw)
        except Exception as error:
            raise AssertionError(f"{name} fails on {raw!r}") from error


@pytest.mark.parametrize(
    ("name", "raw"), [each[:2] for each in FOUND], ids=[each[2] for each in FOUND]
)
def test_what_was_found_is_mended(name: str, raw: bytes) -> None:
    TARGETS[name](raw)


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "campaigns.fuzz", *words],
        capture_output=True,
        check=False,
        text=True,
    )


def test_an_input_is_run_again_without_a_fuzzer(tmp_path: Path) -> None:
    (tmp_path / "sound").write_bytes(npy_bytes())

    ran = fuzz("npy", str(tmp_path / "sound"))

    assert (ran.returncode, ran.stdout) == (0, f"{tmp_path / 'sound'}: fine\n")


def test_a_target_that_does_not_exist_is_refused_by_name() -> None:
    ran = fuzz("nosuch")

    assert ran.returncode == 2
    assert "npy" in ran.stderr


def test_without_a_fuzzer_the_command_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['atheris'] = None; sys.argv = ['fuzz', 'npy']\n"
        "import runpy; runpy.run_module('campaigns.fuzz', run_name='__main__')"
    )

    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=False, text=True
    )

    assert ran.returncode == 1
    assert ran.stderr == "fuzzing needs atheris: pip install 'gathercli[fuzz]'\n"
    assert list(tmp_path.iterdir()) == []
