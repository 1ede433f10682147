"""Jobs: calls in JSON, with the expected output or error; and the calls bound to their inputs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli import ops
from gathercli.compute.bound import BoundCall, of_one_type
from gathercli.errors import InputError, VersionError
from gathercli.frameworks.versions import find
from gathercli.io.formats import jsontext
from gathercli.io.formats.content import UNSAID, ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.io.jobfile import JobEntry, error_at, job_error, name_of, read_entries
from gathercli.io.source import Inputs, is_stdin
from gathercli.ops import FAMILIES, attributes
from gathercli.slices import given, given_names
from gathercli.spec import rules
from gathercli.spec.call import UNKNOWN_AXIS, Call, CallContext, Operand, as_integer
from gathercli.spec.dtypes import INT64, DType, dtype, named
from gathercli.spec.op import OTHER_NAMES, OUT_OF_RANGE_CHOICES, Negative, Op, OutOfRange
from gathercli.spec.shapes import as_shape
from gathercli.text import clean, closest, listed, short, value_text

if TYPE_CHECKING:
    from gathercli.compute.tensor import ChunkedTensor, Tensor

    Check = tuple[Callable[[Any], bool], str]  # whether a value is valid, and what is expected

SHAPE: Final = "shape"
EXPECT: Final = "expect"
INLINE_BYTES: Final = 64 << 20  # the default limit of a result in a line of the report, in bytes


@dataclass(slots=True, kw_only=True)  # a frozen one takes thrice as long to create
class Job:
    """A call from a job file, which nothing changes."""

    id: str = ""  # by default `name_of` its place
    title: str | None = None
    source: str | None = None
    op: str  # the command
    of: str | None = None  # of ``shape`` the operator whose output shape is inferred
    version: str | int | None = None  # None: the default of the operator
    # by name: a token, a nested list or a typed tensor; of ``shape`` a shape
    inputs: Mapping[str, Any]
    # the declared types of untyped inputs, by name
    types: Mapping[str, DType] = field(default_factory=dict)
    # by name; of ``shape`` the axis may be ``unknown``
    attrs: Mapping[str, Any] = field(default_factory=dict)
    negative: str = Negative.SPEC.value
    out_of_range: str = OutOfRange.SPEC.value
    expect: Any = None
    expect_error: str | bool | None = None  # the rule of the expected error; True for any
    rtol: float = 0.0
    atol: float = 0.0
    output: str | None = None
    node: str | None = None  # of a model, which decided other keys: ``model.onnx#/emb/Gather``
    folder: str = ""  # of relative paths
    where: str = field(default="", compare=False)  # its place in a file
    text: bytes = field(default=b"", compare=False)  # its JSON

    @property
    def operator(self) -> str:
        """The name of the operator: ``gather-elements``."""
        return self.of or self.op

    @property
    def output_path(self) -> str:
        """The path of the output; blank without one."""
        return os.path.join(self.folder, self.output) if self.output else ""

    @property
    def tensors(self) -> tuple[Any, ...]:
        """The inputs and the expected output, which may be names of files."""
        return *self.inputs.values(), self.expect

    def described(self, key: str, inputs: Inputs) -> Operand | Tensor:
        """Return the shape and type of an input; read only the header of a file that has one."""
        value, declared = self._value(key), self.types.get(key)
        if isinstance(value, str):
            described = inputs.shape_or_operand if self.op == SHAPE else inputs.operand
            return described(value, key, self._types(key))
        if self.op == SHAPE:
            return Operand(as_shape(value), declared)
        return self.tensor(key, inputs)

    def tensor(self, key: str, inputs: Inputs, *, assumed: DType | None = None) -> Tensor:
        """Read an input, or ``expect``, of which `assumed` is the type if it is untyped."""
        value, root, limit = self._value(key), f"$.{key}", inputs.max_bytes
        types = self._types(key, assumed)
        if isinstance(value, str):
            return inputs.tensor(value, key, types)
        if isinstance(value, dict):
            tensor = jsontext.typed_tensor(value, root, max_bytes=limit)
            if types.declared is None:
                return tensor
            from gathercli.compute.conversion import convert

            return convert(tensor, types.declared)
        return tensor_of(value, types, root=root, max_bytes=limit)

    def chunked(self, key: str, inputs: Inputs) -> ChunkedTensor:
        """Read an input as `tensor` does, but read stored chunks on demand."""
        value = self.inputs[key]
        if not isinstance(value, str):
            return self.tensor(key, inputs)
        return inputs.chunked(value, key, self._types(key))

    def _value(self, key: str) -> Any:
        return self.expect if key == EXPECT else self.inputs[key]

    def _types(self, key: str, assumed: DType | None = None) -> ElementTypes:
        types, declared = keys_of(self.op, self.of).untyped.get(key, UNSAID), self.types.get(key)
        if declared is None and assumed is None:
            return types
        return types._replace(declared=declared, assumed=assumed)


def _is_text(v: Any) -> bool:
    return isinstance(v, str) and v != ""


def _is_input(v: Any) -> bool:
    if isinstance(v, str):
        return v != "" and not is_stdin(v)
    return isinstance(v, list | dict | int | float)


def _one_of(*words: str) -> Check:
    return lambda v: v in words, listed(words)


_TEXT_CHECK: Final[Check] = _is_text, "text"
# The rules of the operator check the value.
_ATTRIBUTE_CHECK: Final[Check] = lambda v: isinstance(v, int | float | str | list), "an integer"
_INPUT_CHECK: Final[Check] = (
    _is_input,
    "a list, a number, a typed tensor, or a token other than `-`",
)
_DTYPE_CHECK: Final[Check] = (
    lambda v: isinstance(v, str) and named(v) is not None,
    "a type such as int64",
)
_SHAPE_CHECK: Final[Check] = lambda v: isinstance(v, str | list), "a shape, as text or as a list"
_TOLERANCE_CHECK: Final[Check] = (
    lambda v: type(v) in (int, float) and 0 <= v < float("inf"),
    "a number from 0 on",
)

# The rules whose errors a job may expect, in the order of the checks.
ERROR_RULES: Final = (
    "version",
    *rules.statements(),
    *("missing", "unreadable", "format", "npy", "npz", "json", "ragged", "literal", "dtype"),
    *("shape-text", "job"),
)


class JobKeys(NamedTuple):
    """The keys of the jobs of one operator."""

    checks: dict[str, Check]
    inputs: tuple[str, ...]  # the keys of inputs,
    types: tuple[str, ...]  # of types of inputs,
    attrs: tuple[str, ...]  # and of attributes
    required: frozenset[str]  # `of` in a shape job only
    untyped: dict[str, ElementTypes]  # what is said of text, by input


def keys_of(op: Any, of: Any = None) -> JobKeys:
    """Return the keys of a job with these ``op`` and ``of``; those of the default if unknown."""
    return _keys_of(str(op), str(of))


@lru_cache(maxsize=64)
def _keys_of(op: str, of: str) -> JobKeys:
    family = FAMILIES.get(of if op == SHAPE else op, next(iter(FAMILIES.values())))
    inputs = tuple(each.name for each in family.ROWS[0].inputs)
    attrs = tuple(attributes(family))
    types = tuple(f"{name}_dtype" for name in inputs)
    tensor = _SHAPE_CHECK if op == SHAPE else _INPUT_CHECK
    checks = {
        **dict.fromkeys(("id", "title", "source"), _TEXT_CHECK),
        "op": _one_of(*FAMILIES, SHAPE),
        **({"of": _one_of(*FAMILIES)} if op == SHAPE else {}),
        "version": (lambda v: _is_text(v) or type(v) is int, "a version such as openvino-8"),
        **dict.fromkeys(inputs, tensor),
        **dict.fromkeys(types, _DTYPE_CHECK),
        **dict.fromkeys(attrs, _ATTRIBUTE_CHECK),
        "negative": _one_of(*(each.value for each in Negative)),
        "out_of_range": _one_of(*OUT_OF_RANGE_CHOICES),
        EXPECT: tensor,
        "expect_error": (lambda v: v is True or v in ERROR_RULES, "the name of a rule, or true"),
        **dict.fromkeys(("rtol", "atol"), _TOLERANCE_CHECK),
        **({} if op == SHAPE else dict.fromkeys(("output", *given_names("jobs")), _TEXT_CHECK)),
    }
    required = frozenset(("op", *inputs, *(("of",) if op == SHAPE else ())))
    untyped = {
        each.name: ElementTypes(empty=INT64) for each in family.ROWS[0].inputs if each.values
    }
    return JobKeys(checks, inputs, types, attrs, required, untyped)


def read(source: JobEntry) -> Job:
    """Parse the text of a job; raise InputError (``job``, ``version``) if it is invalid."""
    try:
        document = jsontext.parse(source.text)
    except InputError as error:
        hint = None
        if isinstance(error, jsontext.JsonError):
            is_alone = source.where.endswith(f", line {source.line}")  # in its line
            line = "" if is_alone else f"line {error.line + source.line - 1}, "
            column = error.column + (source.column - 1 if error.line == 1 else 0)
            error.move(f"at {line}column {column}")
            if error.is_cut and is_alone:
                hint = "a .jsonl file has one job per line; a .json file may spread it over several"
        raise error_at(source.where, error, hint=hint) from None
    _check(document, source.where)
    return _job(document, source)


def read_again(record: bytes) -> Job:
    """Parse the record of a valid job, such as one that `read` accepted."""
    source = JobEntry.parse(record)
    return _job(jsontext.parse(source.text), source)


def jobs(path: str) -> list[Job]:
    """Read the jobs of a file in order."""
    kinds = JobKinds()
    return [read(kinds.expand(source)) for source in read_entries(path)]


class JobKinds:
    """The jobs that a slice expands, by a key of their own; a file takes `limit` bytes at most."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._keys = {key: re.compile(rb'"%b"\s*+:' % key.encode()) for key in given_names("jobs")}
        self._kinds: dict[str, Any] = {}

    def expand(self, entry: JobEntry) -> JobEntry:
        """Return a job with the keys that follow from those of a slice; any other as it is.

        Raise InputError (``job``) if they are invalid, or the job lacks another key.
        """
        for key, pattern in self._keys.items():
            if pattern.search(entry.text):
                if key not in self._kinds:
                    self._kinds[key] = given("jobs", key)(self._limit)
                entry = self._kinds[key].expand(entry)
        return entry


def _check(job: Any, where: str) -> None:
    if not isinstance(job, dict):
        raise job_error(where, f"the job is {value_text(job)}", "an object")
    keys = keys_of(job.get("op"), job.get("of"))
    checks = keys.checks
    if not keys.required <= job.keys() <= checks.keys():
        raise _keys_error(job, where, keys)
    for key, value in job.items():
        if not checks[key][0](value):
            raise _value_error(job, key, where, keys)
    if "expect" in job and "expect_error" in job:
        raise job_error(where, "`$.expect` and `$.expect_error` are both there", "one of them")
    _check_version(job, where)
    _check_attributes(job, where, keys)


def _job(job: dict[str, Any], source: JobEntry) -> Job:
    keys, rest = keys_of(job["op"], job.get("of")), job.copy()
    if "id" not in rest:
        rest["id"] = name_of(source.where)
    return Job(
        inputs={name: rest.pop(name) for name in keys.inputs},
        types={
            name: dtype(rest.pop(key))
            for name, key in zip(keys.inputs, keys.types, strict=True)
            if key in rest
        },
        attrs={name: rest.pop(name) for name in keys.attrs if name in rest},
        folder=source.folder,
        where=source.where,
        text=source.text,
        **rest,
    )


def _keys_error(job: dict[str, Any], where: str, keys: JobKeys) -> InputError:
    """Return the error for the first unknown key of a job, or the first missing one."""
    checks = keys.checks
    for key in ("op", "of"):  # which decides the other keys
        if key in job and key in checks and not checks[key][0](job[key]):
            return _value_error(job, key, where, keys)
    unknown = next((key for key in job if key not in checks), None)
    if unknown is None:
        missing = next(key for key in checks if key in keys.required and key not in job)
        return job_error(where, f"`$.{missing}` is missing", checks[missing][1])
    if {"status", "seconds"} <= job.keys():
        return job_error(where, "this is a line of a report", "a job")
    op = job.get("op")
    kind = op if op in (*FAMILIES, SHAPE) else next(iter(FAMILIES))
    near = _OTHER_KEYS.get(unknown)
    near = near if near in checks else closest(unknown, checks)
    what = f"`$.{short(clean(unknown))}` is unknown in a {kind} job"
    hint = f'did you mean "{near}"?' if near else None
    return job_error(where, what, listed(checks), hint)


def _value_error(job: dict[str, Any], key: str, where: str, keys: JobKeys) -> InputError:
    value = job[key]
    what = f"`$.{key}` is {value_text(value)}"
    return job_error(where, what, keys.checks[key][1], _hint(key, value))


# The keys of names in other tools.
_OTHER_KEYS: Final = {
    **dict.fromkeys(("dim", "dimension"), "axis"),
    **dict.fromkeys(("mode", "fill"), "out_of_range"),
    "opset": "version",
    "input": "data",
    "index": "indices",
    "out": "output",
}


def _hint(key: str, value: Any) -> str | None:
    """Suggest a similar valid value."""
    if not isinstance(value, str):
        return None
    if key in ("op", "of"):
        near = closest(value.lower().replace("_", "-"), FAMILIES, cutoff=0.8)
        if near is None:
            from gathercli.frameworks.unknown import foreign_name_error

            refusal = foreign_name_error(value, "")
            return getattr(refusal and refusal.advice, "job", None)
        return f'did you mean "{near}"?'
    if key == "out_of_range" and (near := OTHER_NAMES.get(value.lower())):
        return f'did you mean "{near}"?'
    if key != "expect_error":
        return None
    near = closest(value.replace("_", "-"), ERROR_RULES) or (
        "index-range" if "range" in value else ""
    )
    return f'did you mean "{near}"?' if near else f"the rules are {listed(ERROR_RULES, 'and')}"


def _check_version(job: dict[str, Any], where: str) -> None:
    version = job.get("version")
    if version is None or job.get("expect_error") in (True, "version"):
        return
    try:
        find(version, job.get("of", job["op"]))
    except VersionError as error:
        hint = getattr(error.advice, "job", error.advice)
        raise error_at(
            where, error, "`$.version`", rule=error.rule, value=version, hint=hint
        ) from None


def _check_attributes(job: dict[str, Any], where: str, keys: JobKeys) -> None:
    """Raise as the run does for an attribute that is no integer, unless the job expects an error.

    Whether the axis may be unknown depends on the version.
    """
    for name in keys.attrs:
        value = job.get(name, 0)
        if type(value) is int or "expect_error" in job or value in UNKNOWN_AXIS:
            continue
        # A list of one integer may be an axis, which is an input of some versions.
        if as_integer(value) is None or (isinstance(value, list) and name != "axis"):
            raise job_error(where, f"`{name}` is {value_text(value)}", "one integer")


_MOST_CALLS: Final = 64  # the most calls in the cache
# A cache of calls, by all that the rules of shapes, types and attributes depend on.
_calls: dict[tuple[Any, ...], Call] = {}


def row_of(job: Job, notes: list[str]) -> Op:
    """Return the version of a job, or the default of its operator; append a note to `notes`."""
    if job.version is None:
        return FAMILIES[job.operator].ROWS[0]
    match = find(job.version, job.operator)
    if match.note:
        notes.append(match.note)
    return match.op


def bind(job: Job, op: Op, inputs: Inputs, context: CallContext | None = None) -> BoundCall:
    """Bind the call of a job to its inputs: in chunks, or in memory, described to a `context`."""
    read = job.chunked if context is None else job.tensor
    tensors = [read(each.name, inputs) for each in op.inputs]
    if context is not None:
        context.describe(tensors)
    tensors = of_one_type(op, tensors)
    call, is_known = _shared_call(job, op, tensors)
    return BoundCall(call, *tensors, repeated=is_known)


def bind_operands(job: Job, op: Op, inputs: Inputs) -> Call:
    """Bind the call of a job to the shapes and types of its inputs."""
    described = [job.described(each.name, inputs) for each in op.inputs]
    return _shared_call(job, op, of_one_type(op, described))[0]


def _shared_call(job: Job, op: Op, inputs: Sequence[ChunkedTensor | Operand]) -> tuple[Call, bool]:
    """Return the call of jobs that differ in elements alone, and whether an earlier job had it."""
    if not all(type(value) is int for value in job.attrs.values()):  # True and 1.0 equal 1
        return bind_call(job, op, map(Operand.of, inputs)), False
    # Whether the rules accept a call depends on these; on elements only hints do.
    key = (
        id(op),  # which the call keeps alive
        job.op == SHAPE,
        job.negative,
        job.out_of_range,
        *job.attrs.items(),
        *[(each.shape, each.dtype and each.dtype.name, each.decided_by) for each in inputs],
    )
    call = _calls.get(key)
    if call is not None:
        return call, True
    call = bind_call(job, op, map(Operand.of, inputs))
    if len(_calls) >= _MOST_CALLS:
        _calls.clear()
    _calls[key] = call
    return call, False


def bind_call(job: Job, op: Op, operands: Iterable[Operand]) -> Call:
    """Bind the call of a job to a version and its inputs."""
    return ops.bind(
        op,
        *operands,
        negative=job.negative,
        out_of_range=job.out_of_range,
        shapes_only=job.op == SHAPE,
        **job.attrs,
    )
