"""Format a diagnosis: what is wrong, what explains it, and who is known to do that."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import sentence
from gathercli.report.header import tensor_json, title
from gathercli.report.versions import hanging
from gathercli.text import clean, counted, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from gathercli.diagnose.diagnosis import Diagnosis, Named, WrongCells

MAX_SHOWN: Final = 6
"""The most explanations in a text."""

MIN_SHOWN: Final = 3
"""Explanations in a text if the first does not explain all."""

MAX_IN_JSON: Final = 10
"""The most explanations in JSON."""


def diagnosis_text(diagnosis: Diagnosis, width: int | None) -> Text:
    """Format what explains an output."""
    from rich.text import Text

    text = Text()
    if diagnosis.call is not None:
        text.append_text(title(diagnosis.call, width))
    else:
        text.append(f"{diagnosis.row.full_name}\n", "bold")
    inputs = [f"{name} {tensor}" for name, tensor in diagnosis.tensors.items()]
    text.append(hanging("", "   ".join([*inputs, f"wrong {diagnosis.wrong}"]), width))
    for line in _opening(diagnosis):
        text.append(hanging("", clean(line), width))
    if diagnosis.is_right:
        return text
    text.append("\n")
    if not diagnosis.likely:
        text.append(hanging("", "nothing known explains it", width))
        return text
    shown = list(_shown(diagnosis))
    heads = [_cells(each) for each in shown]
    room = max(map(len, heads))
    for head, each in zip(heads, shown, strict=True):
        text.append(hanging(f"{head:>{room}}  ", clean(each.sentence), width))
        if each.known:
            known = hanging(f"{'':>{room}}  known: ", clean("; ".join(each.known)), width)
            text.append(known, "dim")
    text.append("\n")
    for line in _closing(diagnosis):
        text.append(hanging("", clean(line), width))
    return text


def _opening(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what is right and what is wrong."""
    data = next(iter(diagnosis.tensors.values()))
    if diagnosis.refusal is not None:
        yield f"the version refuses the call: {diagnosis.refusal.message}"
    elif diagnosis.is_right:
        yield f"right: all of {counted(diagnosis.best.explanation.score.total, 'cell')}"
    elif diagnosis.refused is not None:
        refused, legal, right = diagnosis.refused
        yield (
            f"the version refuses the indices of {counted(refused, 'cell')}; of "
            f"{counted(legal, 'other cell')} {counted(right, 'is right', 'are right')}"
        )
    elif diagnosis.wrong_cells is not None:
        of = f"of {counted(diagnosis.best.explanation.score.total, 'cell')}"
        yield (
            f"{counted(diagnosis.wrong_cells.number, f'{of} differs', f'{of} differ')}; "
            f"{_first(diagnosis.wrong_cells)}"
        )
    elif diagnosis.call is not None:
        yield sentence(f"the shape is {_shape(diagnosis)}", f"{diagnosis.call.shape}")
    if data.dtype is not diagnosis.wrong.dtype:
        yield sentence(f"the type is {diagnosis.wrong.dtype}", f"{data.dtype}")


def _first(cells: WrongCells) -> str:
    expected = None if cells.expected is None else f"{cells.expected}"
    return sentence(f"the first is {cells.value} at {cells.where}", expected)


def _shape(diagnosis: Diagnosis) -> str:
    return f"[{','.join(map(str, diagnosis.wrong.shape))}]"


def _shown(diagnosis: Diagnosis) -> Iterator[Named]:
    """Yield the first explanations; where they do not explain all, the next ones too."""
    if diagnosis.is_whole:
        return islice(diagnosis.first, MAX_SHOWN)
    return islice(diagnosis.likely, max(MIN_SHOWN, min(MAX_SHOWN, len(diagnosis.first))))


def _cells(each: Named) -> str:
    score = each.explanation.score
    return f"{grouped(score.explained)} of {grouped(score.total)}"


def _closing(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what ties, what is foreign and what is unexplained."""
    first, score = diagnosis.first, diagnosis.best.explanation.score
    if len(first) > 1:
        others = len(first) - MAX_SHOWN
        more = f" ({grouped(others)} more not shown)" if others > 0 else ""
        yield f"the first {grouped(len(first))} tie{more}: {diagnosis.apart}"
    if diagnosis.unexplained is not None:
        number = diagnosis.unexplained.number
        yield (
            f"{counted(number, 'cell is', 'cells are')} not explained; "
            f"{_first(diagnosis.unexplained)}"
        )
    elif not diagnosis.is_whole:
        yield "only one cell differs, which proves nothing"
    if score.foreign:
        yield (
            f"of them {counted(score.foreign, 'holds', 'hold')} foreign memory: the index points "
            "outside of all elements"
        )


def diagnosis_json(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as one line of JSON."""
    call, likely = diagnosis.call, diagnosis.likely
    first = diagnosis.first if likely else ()
    fields: dict[str, Any] = {
        "operator": diagnosis.row.full_name,
        **{each.name: call and getattr(call, each.name) for each in diagnosis.row.attrs},
    }
    fields |= {
        name: tensor_json(tensor.dtype, tensor.shape) for name, tensor in diagnosis.tensors.items()
    }
    fields |= {
        "wrong": tensor_json(diagnosis.wrong.dtype, diagnosis.wrong.shape),
        "verdict": _verdict(diagnosis),
        "refusal": diagnosis.refusal and diagnosis.refusal.message,
        "refused": diagnosis.refused and diagnosis.refused._asdict(),
        "differing": _cells_json(diagnosis.wrong_cells),
        "unexplained": _cells_json(diagnosis.unexplained if likely else diagnosis.wrong_cells),
        "explanations": [
            _explanation_json(each, is_first=each in first) for each in likely[:MAX_IN_JSON]
        ],
        "tied": len(first),
        "apart": diagnosis.apart if likely else None,
    }
    return json.dumps(fields, separators=(",", ":")) + "\n"


def _verdict(diagnosis: Diagnosis) -> str:
    if not diagnosis.likely:
        return "unexplained"
    return "right" if diagnosis.is_right else "named" if diagnosis.is_whole else "in part"


def _cells_json(cells: WrongCells | None) -> dict[str, Any] | None:
    if cells is None:
        return None
    return {
        "count": cells.number,
        "at": json.loads(cells.where),
        "value": cells.value,
        "expected": cells.expected,
    }


def _explanation_json(each: Named, *, is_first: bool) -> dict[str, Any]:
    score = each.explanation.score
    return {
        "names": each.names,
        "sentence": each.sentence,
        "explained": score.explained,
        "foreign": score.foreign,
        "total": score.total,
        "departures": each.explanation.departures,
        "known": each.known,
        "first": is_first,
    }
