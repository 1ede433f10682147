"""Long text on a terminal: through the pager that the person has chosen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


KEEPS: Final = "cat > paged"
LONG: Final = [("man",), ("man", "ops"), ("ops",), ("ops", "--decisions"), ("ops", "openvino-8")]
SHORT: Final = ("ops", "--like", "torch.gather", "--color", "never")

every_long_text = pytest.mark.parametrize("words", LONG, ids=" ".join)


def paged(folder: Path) -> str | None:
    """Return what the pager `KEEPS` was given."""
    path = folder / "paged"
    return path.read_text(encoding="utf-8") if path.exists() else None


@every_long_text
def test_text_longer_than_the_terminal_goes_through_the_pager(
    run: Run, folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = run(*words, "--color", "always", terminal=(1,)).out
    monkeypatch.setenv("PAGER", KEEPS)

    ran = run(*words, terminal=(1,))

    assert ran == (0, "", "")
    assert paged(folder) == text


@pytest.mark.parametrize("pager", ["", "cat", " cat ", "  "])
@every_long_text
def test_an_empty_pager_and_cat_mean_no_pager(
    run: Run, folder: Path, words: tuple[str, ...], pager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "cat").write_text("#!/bin/sh\necho no pager is run\n")
    (folder / "cat").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PAGER", pager)

    ran = run(*words, "--color", "never", terminal=(1,))

    assert ran.status == 0
    assert ran.out.count("\n") > 24
    assert "no pager is run" not in ran.out


@every_long_text
def test_a_pipe_has_no_pager(
    run: Run, folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", KEEPS)

    ran = run(*words)

    assert ran.out.count("\n") > 24
    assert paged(folder) is None


@pytest.mark.parametrize(
    ("free", "columns", "pages"), [(24, 80, False), (1, 80, False), (0, 80, True), (1, 20, True)]
)
def test_text_that_fits_the_terminal_needs_no_pager(
    run: Run, folder: Path, free: int, columns: int, *, pages: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = run(*SHORT, terminal=(1,)).out.count("\n")
    monkeypatch.setenv("PAGER", KEEPS)
    monkeypatch.setenv("LINES", str(lines + free))
    monkeypatch.setenv("COLUMNS", str(columns))

    run(*SHORT, terminal=(1,))

    assert (paged(folder) is not None) is pages


@pytest.mark.parametrize("less", [None, "", "-i"])
def test_less_is_the_default_pager_with_options_unless_less_is_set(
    run: Run, folder: Path, less: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "less").write_text('#!/bin/sh\necho "$LESS" > options\ncat > paged\n')
    (folder / "less").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PAGER")
    if less is not None:
        monkeypatch.setenv("LESS", less)

    ran = run("man", terminal=(1,))

    assert ran == (0, "", "")
    assert (folder / "options").read_text() == f"{'FRX' if less is None else less}\n"
    assert paged(folder)


def test_without_any_pager_the_text_is_printed(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = run("man", terminal=(1,))
    monkeypatch.delenv("PAGER")
    monkeypatch.setenv("PATH", str(folder))

    assert run("man", terminal=(1,)) == text


@pytest.mark.parametrize("pager", ["./nothing-there", "./not-executable"])
def test_the_text_is_printed_if_the_pager_cannot_be_run(
    run: Run, folder: Path, pager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "not-executable").touch(0o644)
    text = run("man", terminal=(1,)).out
    monkeypatch.setenv("PAGER", pager)

    ran = run("man", terminal=(1,))

    assert (ran.status, ran.out) == (0, text)
    assert pager in ran.err  # in the words of the shell


@pytest.mark.parametrize("pager", ["true", "exec 0<&-; false", "head -n 1 > /dev/null; exit 3"])
def test_leaving_the_pager_early_is_silent(
    run: Run, pager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", pager)
    monkeypatch.setattr("gathercli.cli.commands.man.page_text", lambda *_, **__: "line\n" * 200_000)

    assert run("man", terminal=(1,)) == (0, "", "")


def test_an_interrupt_goes_to_the_pager(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", f"kill -INT $PPID; {KEEPS}")

    ran = run("man", terminal=(1,))

    assert ran == (0, "", "")
    assert "EXIT STATUS" in str(paged(folder))


def test_the_pager_itself_can_be_interrupted(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", f"kill -INT $$; {KEEPS}")

    ran = run("man", terminal=(1,))

    assert ran == (0, "", "")
    assert paged(folder) is None
