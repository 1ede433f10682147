"""The mutants: what Cosmic Ray makes of the code that `TARGETS` names, and three operators more.

Those of `BY_HAND` are tried too.
"""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from campaigns.mutation.by_hand import BY_HAND
from campaigns.mutation.equivalent import EQUIVALENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT: Final = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

TARGETS: Final = {
    "io/stream.py": r".*",
    "io/write.py": r".*",
    "batch/journal.py": r".*",
    "text.py": r"UNSAFE|clean|_escape|json_string",
    "compute/check.py": r".*",
    "compute/result.py": r"GatherResult\..*",
    "compute/bound.py": r"check_size",
    "spec/adjustments.py": r".*",
    "compute/tensor.py": r"pack|unpack|element_texts|float32_text|_.*",
    "compute/small.py": r".*",
    "compute/run.py": r".*",
    "compute/kernel.py": r".*",
    "explain/gather_provenance.py": r"GatherProvenance\..*|Reads\..*",
    "explain/provenance.py": r".*",
    "explain/beams.py": r"BeamProvenance\..*",
    "compute/verdicts.py": r".*",
    "compute/indices.py": r".*",
    "compute/threads.py": r".*",
    "frameworks/equivalents.py": r".*",
    "spec/call.py": r".*",
    "spec/decisions.py": r".*",
    "spec/dtypes.py": r".*",
    "spec/op.py": r".*",
    "spec/rules.py": r".*",
    "spec/shapes.py": r".*",
    "spec/type_rules.py": r".*",
    "io/formats/npy.py": r"MAX_HEADER|PREAMBLE|_LENGTH_BYTES|read_header|_text_of"
    r"|_check_declared|check_length|view|check_strings"
    r"|_RAW_PATTERN|parse_raw|Raw\.(layout|tensor|_advice)",
    "io/formats/npz.py": r"MAX_\w+|_ENCRYPTED|Archive\.(?!layout|tensor|_member)\w+",
    "io/files.py": r"SMALL_FILE_BYTES|BUFFERED_BYTES|File\..*",
    "errors.py": r"LimitError\.over",
    "cli/options.py": r"Limits.*|MOST_RESULT_BYTES|_UNITS",
    "io/formats/literal.py": r"_sizes|_check_size|_options|_random",
    "io/formats/values.py": r"MAX_\w+|flatten|_check_strings|_infer",
    "io/formats/content.py": r"check_shape|Layout\.(nbytes|end|view)",
    "io/formats/safetensorsfile.py": r"MAX_JSON_HEADER|Bundle\.(__init__|layout|tensor)|_check"
    "|bundle",
}
"""Files under gathercli/, and of each the functions, methods and constants to mutate."""

SWAPS: Final = {
    "ReplaceComparisonOperator": "Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt "
    "Eq_NotEq Eq_LtE Eq_GtE NotEq_Eq NotEq_Lt NotEq_Gt Is_IsNot IsNot_Is",
    "ReplaceBinaryOperator": "Add_Sub Sub_Add Mul_FloorDiv FloorDiv_Mul Mod_FloorDiv Pow_Mul "
    "LShift_RShift BitOr_BitAnd BitAnd_BitOr",
    "ReplaceUnaryOperator": "USub_UAdd Delete_Not",
    "AddNot": "",
    "ReplaceTrueWithFalse": "",
    "ReplaceFalseWithTrue": "",
    "ReplaceAndWithOr": "",
    "ReplaceOrWithAnd": "",
    "ReplaceBreakWithContinue": "",
    "NumberReplacer": "",
    "ExceptionReplacer": "",
    "RemoveDecorator": "",
    "ZeroIterationForLoop": "",
}
"""The operators of Cosmic Ray: of each swap its boundary and its opposite."""

Span = tuple[tuple[int, int], tuple[int, int]]


class Mutant(NamedTuple):
    """A changed source: the file, the line, the operator, and all of the new text."""

    path: str
    line: int
    operator: str
    source: str


class LeaveOut:
    """Cosmic Ray operator: a statement that raises, calls or changes something becomes `pass`."""

    _KINDS = frozenset({"raise_stmt", "atom_expr", "del_stmt", "yield_expr"})

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        """Find the statements; without `name = value` the name would be unknown."""
        if node.type == "simple_stmt":
            inner = node.children[0]
            if inner.type == "expr_stmt":
                name, how = inner.children[:2]
                changes = name.type != "name" or (how.type == "operator" and how.value != "=")
            else:
                changes = inner.type in self._KINDS
            if changes:
                yield inner.start_pos, inner.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Put `pass` there."""
        import parso

        del index
        prefix = node.children[0].get_first_leaf().prefix
        node.children[0] = parso.parse(f"{prefix}pass")
        return node


class ReturnNothing:
    """Cosmic Ray operator: `return value` becomes `return None`."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        """Find the values."""
        if node.type == "return_stmt" and node.children[1].get_code().strip() != "None":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Put None there."""
        import parso

        del index
        node.children[1] = parso.parse(" None")
        return node


class MoveBound:
    r"""Cosmic Ray operator: ``\x1f`` and ``{1,18}`` inside a text move by one, up and down."""

    _BOUND = re.compile(
        r"(?<=\\x)[0-9a-f]{2}|(?<=\\u)[0-9a-f]{4}|(?<=\\U)[0-9a-f]{8}|(?<=,)\d+(?=})"
    )

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        """Find the bounds."""
        if node.type == "string" and not node.value.startswith(('"""', 'r"""', "f")):
            for _ in self._BOUND.finditer(node.value):
                yield from [(node.start_pos, node.end_pos)] * 2

    def mutate(self, node: Any, index: int) -> Any:
        """Move one."""
        found = list(self._BOUND.finditer(node.value))[index // 2]
        base, step = (10, 1) if node.value[found.start() - 1] == "," else (16, 1)
        number = max(int(found[0], base) + (step if index % 2 else -step), 0)
        new = str(number) if base == 10 else f"{number:0{len(found[0])}x}"
        node.value = node.value[: found.start()] + new + node.value[found.end() :]
        return node


def operators() -> Iterator[tuple[str, Any]]:
    """Name and make every operator."""
    from cosmic_ray.plugins import get_operator

    for name, swaps in SWAPS.items():
        for each in [f"{name}_{swap}" for swap in swaps.split()] or [name]:
            yield each, get_operator(f"core/{each}")()
    yield from (("LeaveOut", LeaveOut()), ("Return", ReturnNothing()), ("Bound", MoveBound()))


FILES: Final = (*TARGETS, *sorted({path for path, _, _ in BY_HAND} - TARGETS.keys()))
"""All files that have mutants."""


def mutants(path: str) -> Iterator[Mutant]:
    """Make every mutant of a file."""
    yield from by_hand(path)
    if path in TARGETS:
        yield from by_operators(path)


def by_hand(path: str) -> Iterator[Mutant]:
    """Make the mutants of `BY_HAND`."""
    source = source_of(path)
    for name, before, after in BY_HAND:
        if name == path:
            head, tail = source.split(before)
            yield Mutant(path, head.count("\n") + 1, "ByHand", head + after + tail)


class Site(NamedTuple):
    """Where an operator can make a mutant: its number among those of the file."""

    path: str
    line: int
    operator: str
    number: int

    def mutant(self) -> Mutant | None:
        """Make the mutant; None if nothing changes."""
        from cosmic_ray.mutating import mutate_code

        before = source_of(self.path)
        after = mutate_code(before, dict(operators())[self.operator], self.number)
        return None if after in {None, before} else Mutant(*self[:3], after)


@cache
def equivalents(path: str) -> frozenset[str]:
    """Return the programs of the mutants of a file that no test can notice."""
    source = source_of(path)
    return frozenset(
        program(source.replace(before, after))
        for name, before, after, _ in EQUIVALENT
        if name == path
    )


def program(source: str) -> str:
    """Return what a source says, however it is spaced."""
    return ast.dump(ast.parse(source))


def by_operators(path: str) -> Iterator[Mutant]:
    """Make the mutants of the operators, of a file of `TARGETS`."""
    return _distinct(sites(path))


def draw(paths: Sequence[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants of the operators, each as likely; the same seed draws the same."""
    found = [site for path in paths if path in TARGETS for site in sites(path)]
    Random(seed).shuffle(found)  # noqa: S311
    return sorted(islice(_distinct(found), number))


def _distinct(found: Iterable[Site]) -> Iterator[Mutant]:
    seen = set[str]()
    for site in found:
        mutant = site.mutant()
        if mutant and mutant.source not in seen:
            seen.add(mutant.source)
            yield mutant


def sites(path: str) -> Iterator[Site]:
    """Find where the operators can make mutants of a file of `TARGETS`."""
    from cosmic_ray.ast import ast_nodes, get_ast

    source = source_of(path)
    tree, lines = get_ast(source), _chosen(path)
    hints = [
        ((each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0))
        for node in ast.walk(ast.parse(source))
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(each, ast.expr)
    ]
    for name, operator in operators():
        spans = [span for node in ast_nodes(tree) for span in operator.mutation_positions(node)]
        for number, (start, _) in enumerate(spans):
            if start[0] in lines and not any(first <= start < last for first, last in hints):
                yield Site(path, start[0], name, number)


@cache
def source_of(path: str) -> str:
    with open(os.path.join(ROOT, "gathercli", path), encoding="utf-8") as file:
        return file.read()


def _chosen(path: str) -> set[int]:
    """Return the lines of the definitions that `TARGETS` names."""
    chosen: set[int] = set()
    for name, node in definitions(ast.parse(source_of(path)).body):
        if re.fullmatch(TARGETS[path], name):
            chosen.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return chosen


def definitions(body: list[ast.stmt], outer: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield outer + node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            target = target.value if isinstance(target, ast.Subscript) else target
            yield outer + ast.unparse(target), node
