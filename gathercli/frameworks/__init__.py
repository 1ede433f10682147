"""Who has which gather: a file of text for each framework, with a row for each of its operators.

``torch.toml`` declares PyTorch, and ``[rows.gather]`` in it the operator ``torch.gather``.
README.md says what a file holds. A line that names a framework loads its file.
"""

from __future__ import annotations

import os

from gathercli.ops import FAMILIES, version_named
from gathercli.records import NamedTuple, lru_cache
from gathercli.spec.dtypes import DType, dtype
from gathercli.spec.op import AXIS, Adaptation, Attr, IndexRange, OffAxis, Op, OutOfRange
from gathercli.text import table_beside

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final


LIMITS: Final = (
    *("least_rank", "most_rank", "least_index_rank", "most_index_rank", "only_axis"),
    *("checks_empty", "full", "shortest_tuple", "refuses_negative"),
)
MODULO: Final = "wrapped modulo s"


class FrameworkRow(NamedTuple):
    """An operator of a framework, and what is known of it beside its row."""

    op: Op
    call: str
    nearest: Op  # a version
    rows: Sequence[str] = ()
    differs: Sequence[str] = ()
    fixes: Mapping[str, str] = {}
    aliases: Sequence[str] = ()
    code: str = ""
    masks: Sequence[str] = ()
    way: str = ""  # another way to call it

    @property
    def name(self) -> str:
        """The usual name: ``torch.gather``."""
        return self.op.full_name

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, in lower case."""
        return tuple(map(str.lower, (self.op.id, self.op.full_name, *self.aliases)))

    @property
    def outside(self) -> str:
        """The fate of any other index that is not on the axis, for people."""
        policy = self.op.out_of_range
        return MODULO if policy is OutOfRange.WRAP else policy.done

    @property
    def arguments(self) -> tuple[str, ...]:
        """The positional arguments of the call, in order."""
        import re

        call = re.search(r"\((.*)\)$", self.call)
        names = (each.strip("{}") for each in call[1].split(", ")) if call else ()
        return tuple(each for each in names if "=" not in each)


class FrameworkFile(NamedTuple):
    """A framework, as its file declares it."""

    name: str
    title: str
    release: str
    short: Sequence[str]
    rows: Sequence[FrameworkRow]
    known: Sequence[Mapping[str, Any]]  # who else does what a hypothesis of `diagnose` says
    target: Sequence[FrameworkRow]  # what a model is converted to, those of `program` first
    sources: Sequence[str]  # of what a conversion does
    program: Mapping[str, Any]  # of a translation; empty if it has none
    mistakes: Sequence[Mapping[str, Any]]  # as in the file: see `gathercli.runtimes.declared`
    runtime: str  # that calls its rows
    functions: str  # that their code calls
    ways: Sequence[FrameworkRow]  # the rows as they are called in other ways
    runtimes: Mapping[str, Mapping[str, Any]]  # how they are called: see `gathercli.runtimes`

    def of(self, command: str) -> list[FrameworkRow]:
        """Return the operators of a family, the default first."""
        return [row for row in self.rows if row.op.family == command]


@lru_cache(maxsize=None)
def names() -> tuple[str, ...]:
    """Return the frameworks that have a file."""
    files = os.listdir(os.path.dirname(__file__))
    return tuple(sorted(each.removesuffix(".toml") for each in files if each.endswith(".toml")))


@lru_cache(maxsize=None)
def framework(name: str) -> FrameworkFile:
    """Read the file of a framework, which exists."""
    table = table_beside(f"{__name__}.{name}")
    each = table.get("each", {})
    rows, target = table.get("rows", {}), table.get("target", {})
    rows = {row: {**each, **fields} for row, fields in rows.items()}
    converted = target.get("rows", {})
    own = [_row(name, table, row, {**each, **fields}) for row, fields in converted.items()]
    plain = {row: _row(name, table, row, fields) for row, fields in rows.items()}
    program = table.get("program", {})
    written = [each.get("row") for each in program.get("operators", {}).values()]
    others = [word for word in plain if word not in converted]
    others.sort(key=lambda word: word not in written)
    return FrameworkFile(
        name,
        table["title"],
        table["release"],
        tuple(table.get("short", ())),
        tuple(plain.values()),
        table.get("known", []),
        (*own, *(plain[row] for row in others)),
        tuple(target.get("sources", ())),
        program,
        tuple(table.get("mistakes", ())),
        table.get("runtime", name),
        table.get("functions", ""),
        tuple(
            _row(name, table, row, {**fields, **way, "code": code})._replace(way=word)
            for word, way in table.get("ways", {}).items()
            for row, fields in rows.items()
            for code in [way.get("code", "{code}").replace("{code}", fields.get("code", ""))]
        ),
        table.get("runtimes", {}),
    )


def row_like(name: str, row: str, **fields: Any) -> FrameworkRow:
    """Return a row of a framework, but for some of its fields."""
    table = table_beside(f"{__name__}.{name}")
    return _row(name, table, row, {**table.get("each", {}), **table["rows"][row], **fields})


def every_framework() -> list[FrameworkFile]:
    """Read the files of all frameworks."""
    return list(map(framework, names()))


def every_row(command: str | None = None) -> list[FrameworkRow]:
    """Return the operators of all frameworks, or those of a family."""
    rows = [row for each in every_framework() for row in each.rows]
    return [row for row in rows if command in (None, row.op.family)]


def _row(
    name: str, table: Mapping[str, Any], operator: str, fields: dict[str, Any]
) -> FrameworkRow:
    """Return the row of an operator; raise `KeyError` for a field that it lacks or no row has."""
    fields = dict(fields)
    for key in ("like", "call", "legal", "outside"):
        if key not in fields:
            raise KeyError(f"{name}.toml, rows.{operator}: `{key}` is missing")
    base = version_named(fields.pop("like"))
    said = {
        key: [" ".join(line.split()) for line in fields.pop(key, ())]
        for key in ("equals", "differs", "aliases")
    }
    fixes, evidence = fields.pop("fixes", {}), fields.pop("evidence", "")
    equals = said["equals"]
    row = FrameworkRow(
        _op(base, name, operator, fields)._replace(
            text=evidence or f"{table['title']} {table['release']}"
        ),
        fields.pop("call"),
        version_named(equals[0]) if equals else base,
        equals,
        said["differs"],
        fixes,
        said["aliases"],
        fields.pop("code", ""),
        fields.pop("masks", ()),
    )
    if fields:
        raise KeyError(f"{name}.toml, rows.{operator}: there is no `{next(iter(fields))}`")
    return row


def _op(base: Op, framework: str, name: str, fields: dict[str, Any]) -> Op:
    """Take the fields of a row, and return the operator that they make of a version."""
    take = fields.pop
    number = take("number", "")
    prefix = number.rstrip("0123456789")
    types = {each: _types(take(each)) for each in ("data", "indices") if each in fields}
    lacks = _types(take("lacks", ""))
    inputs = [
        each._replace(dtypes=types[each.name]) if each.name in types else each
        for each in base.inputs
    ]
    inputs[0] = inputs[0]._replace(dtypes=tuple(d for d in inputs[0].dtypes if d not in lacks))
    adapts = Adaptation(
        flattens=take("flattens", False),
        axis_of_batch=take("axis_of_batch", False),
        scalars=tuple(take("scalars", ())),
        broadcasts=take("broadcasts", False),
        narrow={dtype(wide): dtype(cut) for wide, cut in take("narrow", {}).items()},
        index_bits=take("index_bits", 64),
    )
    axis, batch = take("default_axis", 0), take("batch_dims", base.has_batch_dims)
    is_input = take("axis_is_input", False)
    attrs = [_axis(each, axis, is_input=is_input) for each in base.attrs if each.name == "axis"]
    attrs += [each for each in base.attrs if each.name == "batch_dims" and batch is not False]
    rows = FAMILIES[base.family].ROWS
    has_batch = base.has_batch_dims and batch is not False
    plain = next((op for op in (base, *rows) if op.has_batch_dims == has_batch), base)
    return base._replace(
        equation=plain.equation,
        shape=plain.shape,
        framework=framework,
        name=take("name", name.removesuffix(f"-{number}")),
        version=int(number.removeprefix(prefix) or 0),
        prefix=prefix,
        inputs=tuple(inputs),
        attrs=tuple(attrs),
        index_range=IndexRange(take("legal")),
        out_of_range=OutOfRange(take("outside")),
        changes="",
        off_axis=OffAxis.EQUAL if adapts.broadcasts and base.off_axis else base.off_axis,
        adapts=None if adapts == Adaptation() else adapts,
        **{each: take(each) for each in LIMITS if each in fields},
        most_batch_dims=None if isinstance(batch, bool) else batch,
    )


def _axis(base: Attr, default: int | bool, *, is_input: bool) -> Attr:
    number = None if default is False else int(default)
    return AXIS._replace(default=number, is_input=is_input, source="", doc=base.doc)


def _types(names: str) -> tuple[DType, ...]:
    return tuple(map(dtype, names.split()))
