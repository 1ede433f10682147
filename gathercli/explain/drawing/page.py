"""Write a drawing as an interactive page, or as the output of a notebook.

`page.js` lights the cells of the drawing and says why; all that it says is in the content of
`page_content`. Without it the drawing still shows. The page asks nothing of a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from gathercli import ops
from gathercli.compute import check
from gathercli.compute.verdicts import fate
from gathercli.errors import OperatorError
from gathercli.explain.drawing.scene import Scene, cell_id
from gathercli.explain.drawing.svg import DARK, LIGHT, MONO, SANS, html, safe, svg
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import NO_TARGETS, OUT, Line, Look
from gathercli.explain.provenance import Fate, Provenance
from gathercli.spec.call import Call
from gathercli.spec.op import FROM_THE_END, IndexedAxis, Op, OutOfRange
from gathercli.spec.shapes import flat_positions
from gathercli.text import grouped

MOST_TABLE_AXIS: Final = 64  # the largest axis of which every index value is in the table
_TABLE_EDGE: Final = 2  # the values on each side of -s, 0 and s-1 for a larger axis

_PAGE_FOLDER: Final = os.path.dirname(__file__)
_BODY_STYLE: Final = (
    "html{scroll-padding-bottom:15em}"  # the height of the trace, which would cover a cell
    "body{margin:0;padding:8px;background:var(--page)}"
    "h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}"
)


def index_fates(
    provenance: Provenance[Any], drawn: Collection[Sequence[int]]
) -> list[dict[str, Any]]:
    """Return the fates of index values, with those drawn, on each axis that indices count along.

    ``input`` is the name of the input of the index values; ``axis`` the dimension of the first
    input, counted from the front; ``component`` that of the tuples that counts along it, None if
    every index does; ``values`` are index values from -s-2 to s+1, and those drawn, ascending;
    ``versions`` has the spans of index values, ascending, for each version, as `_span` returns
    them. Numbers that have no limit are texts, which stay exact.
    """
    call = provenance.call
    rank = len(call.data.shape.sizes or ())
    return [
        {
            "input": along.input,
            "axis": along.axis % rank,
            "size": str(along.size),
            "component": along.component,
            "values": _texts(
                sorted({*_tabled_values(along.size), *(numbers[n] for numbers in drawn)})
            ),
            "versions": {op.full_name: _spans(op, call, n) for op in call.family.ROWS},
        }
        for n, along in enumerate(_axes(call))
    ]


def _axes(call: Call) -> list[IndexedAxis]:
    return [along for axes in call.indexed.values() for along in axes]


def _tabled_values(size: int) -> Iterable[int]:
    """Return every value from -s-2 to s+1, or those at the ends and around 0."""
    if size <= MOST_TABLE_AXIS:
        return range(-size - 2, size + 2)
    middles = (-size, 0, size - 1)
    return [middle + step for middle in middles for step in range(-_TABLE_EDGE, _TABLE_EDGE + 1)]


def _spans(op: Op, chosen: Call, n: int) -> list[dict[str, str | None]]:
    """Return what a version makes of every index value on axis n in the call of another."""
    try:
        call = ops.bind(
            op,
            *chosen.inputs.values(),
            negative=chosen.negative.value,
            out_of_range=chosen.out_of_range.value,
            **chosen.attrs,
        )
    except OperatorError as error:
        return [_span(None, "is", "", f"refuses the call: {error.rule}")]
    along = _axes(call)[n]
    ends = sorted({-along.size - 1, -1, along.size - 1})
    return [
        *(_span(last, *_fate(call, along, last)) for last in ends),
        _span(None, *_fate(call, along, along.size)),
    ]


def _span(last: int | None, rule: str, value: int | str, why: str) -> dict[str, str | None]:
    """Return what becomes of index values k from the span before up to `last`, None for no limit.

    The rule is ``plus`` for the position k + value, ``modulo`` for k modulo value, and ``is`` for
    the position, or a word, that is the value: ``none``, ``refused``, or nothing.
    """
    return {
        "last": None if last is None else str(last),
        "rule": rule,
        "value": str(value),
        "why": why,  # nothing if the version refuses
    }


def _fate(call: Call, along: IndexedAxis, k: int) -> tuple[str, int | str, str]:
    """Return the rule of the span of k, its value, and why."""
    how = fate(call, along)(k)
    position = int(check.positions(call, along, np.array([k], np.int64))[0])
    if k == position >= 0:
        return "plus", 0, "a position"
    if position < 0:
        fills = how == Fate.FILLED.value
        return "is", NO_TARGETS[Fate.FILLED if fills else Fate.REFUSED], how * fills
    if how == FROM_THE_END:
        return "plus", along.size, how
    if call.outside is OutOfRange.WRAP:
        return "modulo", along.size, how
    return "is", position, how


class TextTable:
    """Lines of text, each stored once: their templates and their numbers."""

    def __init__(self) -> None:
        self.templates: dict[tuple[str, ...], int] = {}
        self.lines: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a line, which is added if it is new."""
        parts = re.split(r"([0-9]+)", text)
        template = self.templates.setdefault(tuple(parts[::2]), len(self.templates))
        line = " ".join([str(template), *parts[1::2]])
        return self.lines.setdefault(line, len(self.lines))

    def numbers(self, lines: Iterable[Line]) -> str:
        """Return the numbers of lines, each of words with styles: ``0,4,1``."""
        texts = ("".join(word for word, _ in line) for line in lines)
        return ",".join(str(self.number(text)) for text in texts)


def page_content(provenance: Provenance[Any], look: Look, scene: Scene) -> dict[str, Any]:
    """Return what a page says of the cells of a drawing, for JSON.

    ``tensors``, ``templates``, ``lines`` and ``cells``, row-major, are as above; ``start`` is the
    id of the traced cell; ``total`` the number of cells of the output if not all are drawn;
    ``indices`` has the numbers of each index by id, as texts; ``fates`` is what `index_fates`
    returns.
    """
    view, texts = view_of(provenance), TextTable()
    tensors = (OUT, *provenance.call.inputs)
    drawn = {cell.at: "traced" in cell.kinds for cell in scene.cells if cell.tensor == OUT}
    flat = sorted(flat_positions(at, provenance.shape, none=False) for at in drawn)
    cells: list[str] = []
    indices: dict[str, tuple[int, ...]] = {}
    for trace in provenance.traces(np.array(flat, np.int64)):
        pointer, source, numbers = view.ends(trace)
        if numbers is not None:
            indices[cell_id(*pointer)] = numbers
        ends = ((OUT, trace.out), pointer, source)
        lines = texts.numbers(view.trace_steps(trace, look))
        cells.append(" ".join([*(_id(tensors, end) for end in ends), lines]))
    return {
        "version": provenance.call.op.full_name,
        "total": None if len(cells) == provenance.size else grouped(provenance.size),
        "tensors": tensors,
        "templates": list(texts.templates),
        "lines": list(texts.lines),
        "cells": cells,
        "start": next((cell_id(OUT, at) for at, is_traced in drawn.items() if is_traced), None),
        "indices": {name: _texts(numbers) for name, numbers in indices.items()},
        "fates": index_fates(provenance, indices.values()),
    }


def _id(tensors: Sequence[str], cell: tuple[str, Sequence[int]] | None) -> str:
    """Write the id of a cell with the number of its tensor; ``-`` for none."""
    if cell is None:
        return "-"
    tensor, at = cell
    return cell_id(str(tensors.index(tensor)), at)


def _texts(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers]


def page(provenance: Provenance[Any], look: Look, scene: Scene, title: str) -> str:
    """Write a drawing as an interactive page with a title."""
    digest = hashlib.sha256(_shipped("page.js").encode()).digest()
    policy = (
        f"script-src 'sha256-{base64.b64encode(digest).decode()}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    body = f"<main>\n<h1>{safe(title)}</h1>\n{_host(svg(scene), provenance, look, scene)}</main>\n"
    style = f"{_colors('.page')}{_BODY_STYLE}"
    return html(title, policy, style, body, ' class="page"')


def notebook_output(provenance: Provenance[Any], look: Look, scene: Scene) -> str:
    """Write a drawing as HTML for a notebook, which may hold several and may drop scripts.

    The drawing is an image, as notebooks that are not trusted drop SVG elements.
    """
    encoded = base64.b64encode(svg(scene).encode()).decode()
    image = f'<img alt="{safe(scene.title)}" src="data:image/svg+xml;base64,{encoded}">\n'
    return _host(image, provenance, look, scene)


def _host(drawing: str, provenance: Provenance[Any], look: Look, scene: Scene) -> str:
    """Write the element that holds a drawing and all that makes it interactive."""
    content = json.dumps(page_content(provenance, look, scene), separators=(",", ":"))
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
    form = "--page:{page};--ink:{ink};--faint:{faint};--line:{line};--focus:{lines[0]};"
    light, dark = (f"{selector}{{{form.format(**each._asdict())}}}" for each in (LIGHT, DARK))
    fonts = f"{selector}{{--mono:{MONO};--sans:{SANS}}}"
    return f"{fonts}{light}@media(prefers-color-scheme:dark){{{dark}}}"


@cache
def _shipped(name: str) -> str:
    """Read a file beside this module."""
    with open(os.path.join(_PAGE_FOLDER, name), encoding="utf-8") as file:
        return file.read()
