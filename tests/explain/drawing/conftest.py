"""A page in a browser that is offline."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

    from tests.conftest import Run

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
FLAGS: Final = (
    "--no-sandbox",  # which a container or root cannot have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="`.[browser]` is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


class Tab:
    """A page in a browser that is offline, and what it asked for and complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: Path) -> Tab:
        """Show a file."""
        self.page.goto(path.as_uri())
        return self

    def point(self, cell: str) -> None:
        """Move the pointer to a cell."""
        self.page.locator(f"#{cell}").hover()

    def press(self, *names: str) -> None:
        """Press keys."""
        for name in names:
            self.page.keyboard.press(name)

    @property
    def lit(self) -> dict[str, str]:
        """The role of each cell that is lit, by id."""
        pairs = self.page.locator(".cell[data-lit]").evaluate_all(
            "cells => cells.map(cell => [cell.id, cell.dataset.lit])"
        )
        return dict(pairs)

    @property
    def here(self) -> str | None:
        """The id of the cell that the trace is of."""
        cells = self.page.locator(".cell[data-here]")
        return cells.get_attribute("id") if cells.count() else None

    @property
    def focus(self) -> str:
        """The id, or else the text, of the element that has the focus."""
        return str(
            self.page.evaluate(
                """() => {
                  let at = document.activeElement;
                  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
                  return at.id || at.ariaLabel || at.textContent;
                }"""
            )
        )

    @property
    def trace(self) -> str:
        """The lines of the trace."""
        return "\n".join(
            self.page.locator(".panel .steps > p, .panel .equation").all_text_contents()
        )

    @property
    def value(self) -> Locator:
        """The box of the value that is shown in each version."""
        return self.page.locator(".fates input")

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = self.page.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent))"
        )
        return rows

    def fates(self) -> dict[str, str]:
        """Return what the value becomes in each version."""
        return {name: target.split(" → ")[-1] for name, _, target, _ in self._rows()}


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Open an empty page, and check at its end that it asked for nothing and had no errors."""
    with browser.new_context(offline=True, viewport={"width": 1000, "height": 900}) as context:
        opened = Tab(context.new_page())
        yield opened
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert opened.complaints == []


@pytest.fixture
def saved(run: Run, folder: Path) -> Callable[..., Path]:
    """Save the page of a call."""

    def save(*words: str, status: int = 0) -> Path:
        ran = run("explain", *words, "--save", "page.html")
        assert ran.status == status, ran.err
        return folder / "page.html"

    return save
