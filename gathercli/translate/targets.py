"""The targets of a translation: the frameworks whose files have a ``[program]``.

That says how a call is written: README.md beside the files has its fields. What the operators do
with an index, and the types that they take, their rows say, or the versions of an opset.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from typing import Any, Final, NamedTuple

from gathercli.errors import UsageError, VersionError
from gathercli.frameworks import FrameworkFile, framework, names, row_like
from gathercli.frameworks.versions import find
from gathercli.ops import FAMILIES, gather, gather_elements, gather_nd
from gathercli.spec.dtypes import PLAIN, DType, dtype
from gathercli.spec.op import INTEGERS, IndexRange, Op, OutOfRange
from gathercli.text import clean, closest, listed, table_beside


class OwnOperator(NamedTuple):
    """An operator of a target, by its row: what it does with an index on an axis."""

    op: Op
    title: str  # for people
    data: Sequence[DType]  # the types of data that it takes
    code: str = ""  # as in `gathercli.frameworks`
    batches: bool = True  # whether it has batch dimensions, or code writes their coordinates
    # whether an error is promised of a negative index, if one is of others
    refuses_negative: bool = True

    @property
    def wraps(self) -> bool:
        """Whether -s <= k < 0 counts from the end."""
        return self.op.index_range is IndexRange.SIGNED

    @property
    def fills(self) -> bool:
        """Whether an illegal index gives zeros."""
        return self.op.out_of_range is OutOfRange.ZERO

    @property
    def refuses(self) -> bool:
        """Whether an error is promised of an illegal index."""
        return self.op.out_of_range is OutOfRange.ERROR


class TranslationTarget(NamedTuple):
    """A framework that a call is translated to, as the table of its file says."""

    name: str  # the value of `--to`
    title: str  # for people
    operators: Mapping[str, OwnOperator]  # by family
    runtimes: Sequence[str]
    functions: str  # of the file, that `call` needs
    suffix: str = ".py"
    opset: int = 0
    casts: Sequence[DType] = INTEGERS
    loop_lacks: Sequence[DType] = ()
    loop_note: str = ""
    raises: bool = False
    unraised: str = ""
    call: str = "{function}({inputs})"
    module: str = ""
    imports: Sequence[str] = ()
    imports_of_64_bits: Sequence[str] = ()
    has_numbers: bool = True
    expressions: Mapping[str, str] = {}

    @property
    def framework(self) -> str:
        """Its name without the opset."""
        return self.name.partition("-")[0]

    def check_path(self, path: str, subject: str) -> None:
        """Raise if the suffix of a file is another's; the `subject` is what names the file."""
        stem, suffix = os.path.splitext(path)
        if path == "-":
            what = (
                f"is `-`, and the translation to {self.name} is written to {self.suffix} files only"
            )
            expected, hint = "the name of one", "without `-o` its text goes to stdout"
            raise UsageError(what, subject=subject, value=path, expected=expected, hint=hint)
        if suffix.lower() != self.suffix:
            what = f"is `{clean(path)}`, and the translation to {self.name} is a {self.suffix} file"
            usage = UsageError(what, subject=subject, value=path, expected="that suffix")
            usage.instead = (stem + self.suffix,)
            raise usage

    @property
    def data(self) -> Sequence[DType]:
        """The types of data that it has."""
        return self.operators[gather.COMMAND].data

    def text(self, what: str, *inputs: str, **fields: Any) -> str:
        """Fill an expression in."""
        return self.expressions[what].format(*inputs, **fields)

    def check(self, k: str, condition: str, message: str) -> list[str]:
        """Return the lines that raise an error if a condition holds anywhere."""
        return self.text("check", k, condition=condition, message=f'"{message}"').split("\n")


@cache
def _target(name: str) -> TranslationTarget:
    """Return the target of a framework that has the table."""
    file = framework(name)
    table, opset = _table(file), file.program.get("opset")
    own: dict[str, Any] = {"name": target_frameworks()[name], "raises": not opset, **table}
    for key in {"casts", "loop_lacks"} & set(own):
        own[key] = tuple(map(dtype, own[key].split()))
    if opset:
        own |= {"title": f"{file.title}, opset {opset}", "operators": _of_opset(file, table)}
    else:
        own["operators"] = _of_rows(name, table)
        like = file.program.get("like", DIALECT)
        theirs = _target(like) if like != name else None
        own["expressions"] = _expressions(file, own["operators"], theirs, table["module"])
    return TranslationTarget(**{key: own[key] for key in TranslationTarget._fields if key in own})


def _table(file: FrameworkFile) -> Mapping[str, Any]:
    like = file.program.get("like")
    shared = {"title": file.title, "runtimes": [file.runtime], "functions": file.functions}
    return {**(_table(framework(like)) if like else {}), **shared, **file.program}


def _of_rows(name: str, table: Mapping[str, Any]) -> dict[str, OwnOperator]:
    """Return the operators that are rows of a framework, with what differs from these."""
    shared = {key: table[key] for key in ("lacks", "indices", "outside", "code") if key in table}
    operators = {}
    for family, fields in table["operators"].items():
        row = row_like(name, **shared | fields)
        data = [each for each in row.op.inputs[0].dtypes if each in PLAIN]
        operators[family] = OwnOperator(row.op, row.call.partition("(")[0], data, row.code)
    return operators


def _of_opset(file: FrameworkFile, table: Mapping[str, Any]) -> dict[str, OwnOperator]:
    """Return the operators of an opset; where the runtime differs, they do as that."""
    from gathercli.io.graphs.ir import ELEMENT_TYPES

    operators = {}
    for family in FAMILIES:
        try:
            op = find(f"{file.name}-{table['opset']}", family).op
        except VersionError:  # it has no such operator
            continue
        runs = [each.op for each in file.target if each.op.full_name == op.full_name] or [op]
        operators[family] = OwnOperator(
            op._replace(out_of_range=runs[-1].out_of_range),
            f"{op.name}-{op.version}",
            op.inputs[0].dtypes if table["suffix"] == ".onnx" else tuple(ELEMENT_TYPES),
            batches=op.has_batch_dims,
            refuses_negative=runs[-1].index_range is IndexRange.UNSIGNED,
        )
    return operators


def _expressions(
    file: FrameworkFile,
    operators: Mapping[str, OwnOperator],
    like: TranslationTarget | None,
    module: str,
) -> dict[str, str]:
    """Return the expressions of a framework: those of another, of its rows, and its own."""
    expressions = {}
    if like:
        old, new = f"{like.module}.", f"{module}."
        expressions = {what: text.replace(old, new) for what, text in like.expressions.items()}
    for what, op in FAMILY_PRIMITIVES.items():
        code = re.sub(r"\bdata\b", "{0}", operators[op.family].code)
        code = re.sub(r"\bindices\b", "{1}", code)
        batches = ", batch_dims={batch_dims}"
        if batches in code:
            expressions |= {what: code.replace(batches, ""), f"batched {what}": code}
        elif code and not op.tuples:  # where a dialect writes the components of tuples
            expressions[what] = code
    return {**expressions, **file.program.get("expressions", {})}


# The primitives that are operators of a target, and versions that have their attributes.
FAMILY_PRIMITIVES: Final = {
    "gather": gather.OPENVINO_8,
    "gather_elements": gather_elements.ONNX_13,
    "gather_nd": gather_nd.OPENVINO_8,
}
DIALECT: Final = "numpy"  # whose expressions hold where a framework has none


@cache
def target_frameworks() -> Mapping[str, str]:
    """Return the names of all targets in their order, by framework, without making their rows."""
    tables = {each: table_beside(f"gathercli.frameworks.{each}") for each in names()}
    programs = {each: table["program"] for each, table in tables.items() if "program" in table}
    opsets = {each: f"{each}-{own['opset']}" for each, own in programs.items() if "opset" in own}
    order = sorted(programs, key=lambda each: programs[each].get("place", inf))
    return {each: opsets.get(each, each) for each in order}


def translation_targets() -> tuple[TranslationTarget, ...]:
    """Return all targets in their order."""
    return tuple(map(_target, target_frameworks()))


def target_names() -> tuple[str, ...]:
    """Return the values of `--to`: the frameworks, and those that stand for an opset."""
    frameworks = target_frameworks()
    return (*frameworks, *(each for each in frameworks.values() if each not in frameworks))


def example(paths: Sequence[str]) -> str:
    """Return the name of the first target that fits the last of the files to write, if any."""
    targets = translation_targets()
    fitting = (each.name for each in targets if paths and paths[-1].endswith(each.suffix))
    return next(fitting, targets[0].name)


def target(name: str) -> TranslationTarget:
    """Return the target of a name, with its opset or without; raise UsageError for another."""
    if name not in target_names():
        near = closest(name, target_names())
        what, hint = f"no target `{clean(name)}`", f"did you mean `{near}`?" if near else None
        raise UsageError(what, value=name, expected=listed(target_names()), hint=hint)
    return _target(next(each for each in target_frameworks().items() if name in each)[0])
