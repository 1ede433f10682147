"""Job files: calls written down, with the answer or the refusal they should give.

A job is a JSON object. A .jsonl file holds one a line, any other file one or a list of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from gathercli.core.call import UNKNOWN_AXIS
from gathercli.core.dims import as_shape
from gathercli.core.dtypes import FLOAT64, INT64, named
from gathercli.core.spec import Negative, OutOfRange
from gathercli.core.text import clean, closest, json_string, listed
from gathercli.errors import InputError, NoInputError
from gathercli.io import json
from gathercli.io.store import convert, shown
from gathercli.io.values import tensor_of
from gathercli.ops import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.core.dims import Shape
    from gathercli.core.dtypes import DType, Tensor
    from gathercli.io.source import Inputs

    Key = Literal["data", "indices", "expect"]
    Check = tuple[Callable[[Any], bool], str]  # what a value must be, and how that is said

SHAPE: Final = "shape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One call, as it was written down.

    Attributes
    ----------
    op, of
        The command; for ``shape`` also the operator whose output shape it infers.
    version
        None for the operator's default.
    data, indices
        A token, a nested list or a typed tensor; of a shape job a shape.
    axis
        None for the version's default; of a shape job also ``unknown``.
    expect, expect_error
        The output, or the rule that refuses (True for any); both None when nothing is expected.
    folder
        Where relative paths start.
    """

    id: str
    title: str | None = None
    source: str | None = None
    op: str
    of: str | None = None
    version: str | int | None = None
    data: Any
    indices: Any
    axis: Any = None
    batch_dims: int = 0
    negative: str = Negative.SPEC.value
    out_of_range: str = OutOfRange.SPEC.value
    data_dtype: DType | None = None
    indices_dtype: DType | None = None
    expect: Any = None
    expect_error: str | bool | None = None
    rtol: float = 0.0
    atol: float = 0.0
    output: str | None = None
    folder: str = ""

    @property
    def operator(self) -> str:
        """The operator that runs, or whose shape is inferred: ``gather-elements``."""
        return self.of or self.op

    def shape(self, key: Key) -> Shape:
        """Read a shape of a shape job."""
        return as_shape(getattr(self, key))

    def tensor(self, key: Key, inputs: Inputs, *, assumed: DType | None = None) -> Tensor:
        """Read a tensor of the job.

        It is refused as `Inputs.tensor` refuses, lists with their path, ``$.data[1]``; `inputs`
        start at the job's folder; `assumed` is the type that an untyped `expect` has.
        """
        value, root, limit = getattr(self, key), f"$.{key}", inputs.max_bytes
        declared = {"data": self.data_dtype, "indices": self.indices_dtype}.get(key)
        empty = INT64 if key == "indices" else FLOAT64
        if isinstance(value, str):
            return inputs.tensor(value, key, declared=declared, assumed=assumed, empty=empty)
        if isinstance(value, dict):
            tensor = json.typed(value, root, max_bytes=limit)
            return tensor if declared is None else convert(tensor, declared)
        dtype = declared or assumed
        return tensor_of(value, declared=dtype, empty=empty, root=root, max_bytes=limit)


def _is_text(v: Any) -> bool:
    return isinstance(v, str) and v != ""


def _is_input(v: Any) -> bool:
    if isinstance(v, str):
        return v not in ("", "-") and not v.startswith("-#")
    return isinstance(v, list | dict | int | float)


def _one_of(*words: str) -> Check:
    return lambda v: v in words, listed(words)


_TEXT: Final[Check] = _is_text, "text"
_INTEGER: Final[Check] = lambda v: type(v) is int, "an integer"
_INPUT: Final[Check] = _is_input, "a list, a number, a typed tensor, or a token other than `-`"
_DTYPE: Final[Check] = lambda v: isinstance(v, str) and named(v) is not None, "a type such as int64"
_DIMENSIONS: Final[Check] = lambda v: isinstance(v, str | list), "a shape, as text or as a list"
_TOLERANCE: Final[Check] = (
    lambda v: type(v) in (int, float) and 0 <= v < float("inf"),
    "a number from 0 on",
)

_EVERY_JOB: Final[dict[str, Check]] = {
    "id": _TEXT,
    "title": _TEXT,
    "source": _TEXT,
    "op": _one_of(*FAMILIES, SHAPE),
    "version": (lambda v: _is_text(v) or type(v) is int, "a version such as openvino-8"),
    "batch_dims": _INTEGER,
    "data_dtype": _DTYPE,
    "indices_dtype": _DTYPE,
    "expect_error": (lambda v: v is True or _is_text(v), "the name of a rule, or true"),
}
_RUN_JOB: Final[dict[str, Check]] = _EVERY_JOB | {
    "data": _INPUT,
    "indices": _INPUT,
    "axis": (lambda v: type(v) in (int, list), "an integer, or a list of one"),
    "negative": _one_of(*(each.value for each in Negative)),
    "out_of_range": _one_of(*(each.value for each in OutOfRange)),
    "expect": _INPUT,
    "rtol": _TOLERANCE,
    "atol": _TOLERANCE,
    "output": _TEXT,
}
_SHAPE_JOB: Final[dict[str, Check]] = _EVERY_JOB | {
    "of": _one_of(*FAMILIES),
    "data": _DIMENSIONS,
    "indices": _DIMENSIONS,
    "axis": (
        lambda v: type(v) in (int, list) or v in UNKNOWN_AXIS,
        "an integer, a list of one, or unknown",
    ),
    "expect": _DIMENSIONS,
}


def parse(source: str | bytes | dict[str, Any], *, where: str, folder: str = "") -> Job:
    """Read one job.

    Parameters
    ----------
    source
        JSON text, or the object it holds.
    where, folder
        Where the job was found, for messages (``jobs.jsonl, line 3``); where its paths start.

    Raises
    ------
    InputError
        ``job``: malformed, or a key is unknown, repeated, missing, or holds what it cannot.
    """
    document = source if isinstance(source, dict) else _document(source, where)
    return _job(document, where, folder)


def jobs(path: str) -> list[Job]:
    """Read the jobs of a file, in their order.

    Raises
    ------
    InputError, NoInputError
        ``job``; ``missing``, ``unreadable``.
    """
    name, folder, raw = clean(path), os.path.dirname(path), _bytes(path)
    if path.endswith(".jsonl"):
        lines = ((f"{name}, line {n}", line) for n, line in enumerate(raw.split(b"\n"), 1))
        return [parse(line, where=where, folder=folder) for where, line in lines if line.strip()]
    document = _document(raw, name)
    if isinstance(document, list):
        return [_job(job, f"{name}, $[{at}]", folder) for at, job in enumerate(document)]
    return [_job(document, name, folder)]


def _job(job: Any, where: str, folder: str) -> Job:
    if not isinstance(job, dict):
        raise _refused(where, f"the job is {shown(job)}", "an object")
    checks = _SHAPE_JOB if job.get("op") == SHAPE else _RUN_JOB
    for key in job:
        if key not in checks:
            kind, near = "shape" if checks is _SHAPE_JOB else "gather", closest(key, checks)
            what = f"the key {json_string(key)} is unknown in a {kind} job"
            hint = f'did you mean "{near}"?' if near else None
            raise _refused(where, what, listed(checks), hint)
    for key in ("id", "op", "of", "data", "indices"):
        if key in checks and key not in job:
            raise _refused(where, f'the key "{key}" is missing', checks[key][1])
    for key, value in job.items():
        fits, expected = checks[key]
        if not fits(value):
            raise _refused(where, f'the key "{key}" is {shown(value)}', expected)
    if "expect" in job and "expect_error" in job:
        raise _refused(where, 'the keys "expect" and "expect_error" are both there', "one of them")
    types = {key: named(job[key]) for key in ("data_dtype", "indices_dtype") if key in job}
    return Job(**{**job, **types}, folder=folder)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise NoInputError(
            f"`{clean(path)}` cannot be read ({getattr(error, 'strerror', error)}): "
            "expected a file of jobs",
            rule="missing" if isinstance(error, FileNotFoundError) else "unreadable",
            value=path,
        ) from None


def _document(raw: str | bytes, where: str) -> Any:
    try:
        return json.parse(raw)
    except InputError as error:
        raise InputError(f"{where}: {error.message}", rule="job", where=where) from None


def _refused(where: str, what: str, expected: str, hint: str | None = None) -> InputError:
    message = f"{where}: {what}: expected {expected}"
    return InputError(message, rule="job", where=where, expected=expected, hint=hint)
