"""Write a drawing as an interactive page, or as the output of a notebook.

`page.js` lights the cells of the drawing and says why; all that it says is in the content of
`page_content`. Without it the drawing still shows. The page asks nothing of a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from gathercli.explain.drawing.page_content import page_content
from gathercli.explain.drawing.shapes import MONO, SANS, safe
from gathercli.explain.drawing.svg import svg
from gathercli.explain.drawing.theme import DARK, LIGHT

if TYPE_CHECKING:
    from gathercli.explain.drawing.scene import Scene
    from gathercli.explain.drawing.theme import Theme
    from gathercli.explain.look import Look
    from gathercli.explain.provenance import Provenance

_FOLDER: Final = os.path.dirname(__file__)
_BODY: Final = (
    "html{scroll-padding-bottom:15em}"  # the height of the trace, which would cover a cell
    "body{margin:0;padding:8px;background:var(--page)}"
    "h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}"
)


def page(lesson: Provenance[Any], look: Look, scene: Scene, title: str) -> str:
    """Write a drawing as an interactive page.

    Parameters
    ----------
    title
        The title of the page.
    """
    script = _shipped("page.js")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_sha256(script)}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en" class="page">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{_colors('.page')}{_BODY}</style>\n"
        f"</head>\n<body>\n<main>\n<h1>{safe(title)}</h1>\n"
        f"{_host(svg(scene), lesson, look, scene)}</main>\n</body>\n</html>\n"
    )


def notebook_output(lesson: Provenance[Any], look: Look, scene: Scene) -> str:
    """Write a drawing as HTML for a notebook, which may hold several and may drop scripts.

    The drawing is an image, as notebooks that are not trusted drop SVG elements.
    """
    encoded = base64.b64encode(svg(scene).encode()).decode()
    image = f'<img alt="{safe(scene.title)}" src="data:image/svg+xml;base64,{encoded}">\n'
    return _host(image, lesson, look, scene)


def _host(drawing: str, lesson: Provenance[Any], look: Look, scene: Scene) -> str:
    """Write the element that holds a drawing and all that makes it interactive."""
    content = json.dumps(page_content(lesson, look, scene), separators=(",", ":"))
    for mark in "<>&":
        content = content.replace(mark, f"\\u{ord(mark):04x}")
    style = f"{_colors(':host')}\n{_shipped('page.css')}"
    # JupyterLab has shortcuts for letters and arrows; the attribute is its way to leave them out.
    return (
        f'<div data-gathercli="page" data-lm-suppress-shortcuts="true">\n{drawing}'
        f"<template><style>{style}</style></template>\n"
        f'<script type="application/json">{content}</script>\n'
        f"<script>{_shipped('page.js')}</script>\n</div>\n"
    )


def _colors(selector: str) -> str:
    """Return the colours and fonts of a page as custom properties, for light and dark."""
    fonts = f"{selector}{{--mono:{MONO};--sans:{SANS}}}"
    light, dark = _properties(selector, LIGHT), _properties(selector, DARK)
    return f"{fonts}{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _properties(selector: str, theme: Theme) -> str:
    names = {
        "page": theme.page,
        "ink": theme.ink,
        "faint": theme.faint,
        "line": theme.line,
        "focus": theme.lines[0],
    }
    return f"{selector}{{{''.join(f'--{name}:{color};' for name, color in names.items())}}}"


@cache
def _shipped(name: str) -> str:
    """Read a file beside this module."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
