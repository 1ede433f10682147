"""Write a drawing as an interactive page, or as the output of a notebook.

Four scripts answer the call anew when it is changed, light the cells of the drawing, and say why;
what they start from is in the content of `page_content`. Without them the drawing still shows. The
page asks nothing of a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import numpy as np

from gathercli import ops
from gathercli.compute.tensor import Tensor
from gathercli.explain.drawing import svg
from gathercli.explain.drawing.scene import Scene, cell_id, number
from gathercli.explain.explained_call import view_of
from gathercli.explain.panel import HUES, OUT, Look, letter_of, writer
from gathercli.explain.provenance import Provenance
from gathercli.io.formats.encode import json_texts
from gathercli.spec.call import Call
from gathercli.spec.op import Op
from gathercli.spec.shapes import flat_positions, product
from gathercli.text import grouped

# The most elements of a call that a page answers anew, if all are drawn, and else.
MOST_CHANGED_ELEMENTS: Final = 7000
MOST_HIDDEN_ELEMENTS: Final = 1000

_BODY_STYLE: Final = (
    "body{margin:0;padding:8px;background:var(--page)}"
    ".page>body>main>[data-gathercli]{overflow-x:auto}"  # without the script
    "h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}"
)
_SILENT: Final = "<p>The picture can be changed where the script in this page may run.</p>"  # else


def call_content(provenance: Provenance[Any], look: Look, *, whole: bool) -> dict[str, Any]:
    """Return a call and the rows of its versions, for `answer.js`; with `whole` also its values.

    ``rules`` are those of the operator, in their order; a row has the fields of `Op`, and
    ``takes``, whether it takes the element type of each input; one that reshapes them stands alone.
    ``texts`` are elements as a picture has them, ``words`` their JSON, if these differ.
    """
    call, inputs = provenance.call, list[dict[str, Any]]()
    others = () if getattr(provenance, "changes_inputs", False) else call.family.ROWS
    for name, operand in call.inputs.items():
        tensor, dtype = getattr(provenance, name), operand.dtype
        inputs.append({"name": name, "dtype": dtype and dtype.short, "shape": tensor.shape})
        if whole:
            inputs[-1] |= _values(tensor, look)
    data = getattr(provenance, inputs[0]["name"])
    filled = np.zeros(2, data.array.dtype)
    filled[0] = getattr(provenance, "fill", filled[1])
    fill, zero = _values(Tensor(data.dtype, filled), look)["texts"]
    return {
        "family": call.family.COMMAND,
        "version": call.op.full_name,
        "attrs": {"axis": call.axis_number, "batch_dims": call.attrs.get("batch_dims")},
        **{name: getattr(call, name).value for name in ("negative", "out_of_range")},
        "fills": {call.outside.value: fill, "zero": zero},
        "inputs": inputs,
        "rules": [ops.rule_name(rule) for rule in call.family.RULES],
        "rows": [_row(op, call) for op in dict.fromkeys((*others, call.op))],
    }


def _row(op: Op, call: Call) -> dict[str, Any]:
    fields = {name: getattr(field, "name", field) for name, field in op._asdict().items()}
    dtypes = [each.dtype for each in call.inputs.values()]
    takes = (dtype in each.dtypes for dtype, each in zip(dtypes, op.inputs, strict=True))
    return fields | {
        "full_name": op.full_name,
        "id": op.id,
        "inputs": [each.name for each in op.inputs],
        "attrs": {each.name: each.default for each in op.attrs},
        "takes": [taken and (not op.one_type or len({*dtypes}) == 1) for taken in takes],
        "adapts": op.adapts and {**op.adapts._asdict(), "narrow": None},
    }


def _values(tensor: Tensor, look: Look) -> dict[str, list[str]]:
    """Return the elements of a tensor as texts."""
    flat = Tensor(tensor.dtype, tensor.array.reshape(-1))
    write, words = writer(flat, look), json_texts(flat)
    texts = [write(value) for value in flat.values().tolist()]
    return {"texts": texts} if texts == words else {"texts": texts, "words": words}


def page_content(provenance: Provenance[Any], look: Look, scene: Scene) -> dict[str, Any]:
    """Return what a page says of a drawing, for JSON.

    ``call`` is what `call_content` returns, with its values if it can be changed; ``start`` the id
    of the traced cell. Else there are ``total``, the number of cells of the output, ``cells``, each
    with its id, those of its index and source, and the lines of its trace, row-major, and
    ``indices``, the numbers of each index by id, as texts.
    """
    drawn = {cell.at: "traced" in cell.kinds for cell in scene.cells if cell.tensor == OUT}
    start = next((cell_id(OUT, at) for at, is_traced in drawn.items() if is_traced), None)
    whole = _is_changed(provenance, scene)
    call = call_content(provenance, look, whole=whole)
    content = {"start": start, "call": call, "letters": letter_of(0), "colors": len(HUES)}
    return content if whole else content | _traces(provenance, look, drawn)


def _is_changed(provenance: Provenance[Any], scene: Scene) -> bool:
    """Tell whether a call is small enough to be changed."""
    call, counts = provenance.call, Counter(cell.tensor for cell in scene.cells)
    shapes = {name: getattr(provenance, name).shape for name in call.inputs}
    sizes = {name: product(shape) for name, shape in shapes.items()} | {OUT: provenance.size}
    if (total := sum(sizes.values())) <= MOST_HIDDEN_ELEMENTS:
        return True
    if call.op.tuples:
        sizes["indices"] = product(shapes["indices"][:-1])
    drawn = (counts[name] == size for name, size in sizes.items() if name in counts)
    return total <= MOST_CHANGED_ELEMENTS and all(drawn)


def _traces(
    provenance: Provenance[Any], look: Look, drawn: Iterable[tuple[int, ...]]
) -> dict[str, Any]:
    view, cells, indices = view_of(provenance), list[list[str]](), dict[str, list[str]]()
    flat = sorted(flat_positions(at, provenance.shape, none=False) for at in drawn)
    for trace in provenance.traces(np.array(flat, np.int64)):
        pointer, source, numbers = view.ends(trace)
        if numbers is not None:
            indices[cell_id(*pointer)] = [str(n) for n in numbers]
        ids = (cell_id(*end) if end else "-" for end in ((OUT, trace.out), pointer, source))
        lines = ("".join(word for word, _ in line) for line in view.trace_steps(trace, look))
        cells.append([*ids, "\n".join(lines)])
    return {"total": grouped(provenance.size), "cells": cells, "indices": indices}


def page(provenance: Provenance[Any], look: Look, scene: Scene, title: str) -> str:
    """Write a drawing as an interactive page with a title."""
    digest = hashlib.sha256(page_script().encode()).digest()
    policy = (
        f"script-src 'sha256-{base64.b64encode(digest).decode()}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    host = interactive(provenance, look, scene, f"<script>{page_script()}</script>{_SILENT}")
    body = f"<main>\n<h1>{svg.safe(title)}</h1>\n{host}</main>\n"
    return svg.html(title, policy, _colors(".page") + _BODY_STYLE, body, ' class="page"')


def interactive(
    provenance: Provenance[Any], look: Look, scene: Scene, script: str, *, strict: bool = False
) -> str:
    """Write the interactive element of a page, whose script may be a file with `page_script`.

    A strict one needs no policy of content for styles, as the script adopts them, but is plain
    without it.
    """
    content = page_content(provenance, look, scene)
    is_large = "total" not in content and len(list(scene.cells)) > MOST_HIDDEN_ELEMENTS
    drawing = _outlined(scene) if is_large else svg.svg(scene)
    if strict:
        drawing = re.sub("<style>.*?</style>", "", drawing, count=1, flags=re.DOTALL)
        content["styles"] = {"both": svg.style_sheet("drawing")}
    return _host(drawing, content, _colors(":host"), script)


def _outlined(scene: Scene) -> str:
    """Write a large drawing with the outlines and texts of its cells, which the script completes.

    The outlines of each tensor are one path, row-major.
    """
    outlines, rows = dict[str, str](), dict[float, list[str]]()
    for cell in sorted(scene.cells, key=lambda cell: cell.at):
        x, y, width, height = map(number, cell.box)
        d = f"M{x} {y}h{width}v{height}h-{width}z"
        outlines[cell.tensor] = outlines.get(cell.tensor, "") + d
        center, base = cell.box.center
        rows.setdefault(base, []).append(svg.element("tspan", svg.safe(cell.text), x=center))
    parts = [svg.element("text", *words, y=base + 7) for base, words in rows.items()]
    for name, d in outlines.items():
        parts.append(svg.path(d, class_="outlines", data_tensor=name, fill="none", stroke="gray"))
    cells = svg.element("g", *parts, class_="plain", text_anchor="middle")
    bare = scene._replace(grids=[grid._replace(cells=[]) for grid in scene.grids])
    return svg.svg(bare).replace("</svg>", f"{cells}\n</svg>")


def notebook_output(provenance: Provenance[Any], look: Look, scene: Scene) -> str:
    """Write a drawing as HTML for a notebook, which may hold several and may drop scripts.

    The drawing is an image for light pages, with words, as notebooks that are not trusted drop SVG
    elements and scripts; a script takes its colours from the notebook.
    """
    encoded = base64.b64encode(svg.svg(scene, sheet=svg.Sheet(theme="light")).encode()).decode()
    image = f'<img alt="{svg.safe(scene.title)}" src="data:image/svg+xml;base64,{encoded}">\n'
    words = f"<p>{svg.safe(scene.description)}</p>\n"
    themes = {"light": svg.LIGHT, "dark": svg.DARK}
    styles = {name: svg.style_sheet("drawing", theme) for name, theme in themes.items()}
    content = page_content(provenance, look, scene) | {"styles": styles}
    style = _colors(":host", ":host([data-theme=dark]){%s}")
    return _host(image + words, content, style, f"<script>{page_script()}</script>")


def _host(drawing: str, content: dict[str, Any], style: str, script: str) -> str:
    """Write the element that holds a drawing and all that makes it interactive."""
    words = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        words = words.replace(mark, f"\\u{ord(mark):04x}")
    # JupyterLab has shortcuts for letters and arrows; the attribute is its way to leave them out.
    return (
        f'<div data-gathercli="page" data-lm-suppress-shortcuts="true">\n{drawing}'
        f"<template><style>{style}\n{_shipped('page.css')}</style></template>\n"
        f'<script type="application/json">{words}</script>\n{script}\n</div>\n'
    )


def _colors(selector: str, dark: str = "") -> str:
    """Return the colours and fonts of a page as custom properties, the dark ones in a rule."""
    dark = dark or f"@media(prefers-color-scheme:dark){{{selector}{{%s}}}}"
    form = "--page:{page};--cell:{cell};--ink:{ink};--faint:{faint};--line:{line};"
    form += "--focus:{lines[0]};--refused:{refused};"
    light, night = (form.format(**each._asdict()) for each in (svg.LIGHT, svg.DARK))
    return f"{selector}{{--mono:{svg.MONO};--sans:{svg.SANS};{light}}}{dark % night}"


@cache
def page_script() -> str:
    """Return the script of a page: the answer of a call, its words, its picture, and the rest."""
    names = ("answer.js", "words.js", "picture.js", "page.js")
    lines = (line.strip() for name in names for line in _shipped(name).splitlines())
    code = "\n".join(line for line in lines if line and not line.startswith(("//", "/*", "*")))
    return f'(() => {{\n"use strict";\n{code}\n}})();\n'


@cache
def _shipped(name: str) -> str:
    """Read a file beside this module."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
