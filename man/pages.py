"""The pages of the manual: prose with values from the declarations of commands and versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from typing import Final

from gathercli.cli.declarations import GROUPS, HELP, MESSAGES, Parameter
from gathercli.cli.generated import TOPICS
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.frameworks import FrameworkRow, every_row
from gathercli.io.jobfile import JOB_SUFFIXES, LINE_SUFFIXES, MAX_JOB_BYTES
from gathercli.io.jobs import INLINE_BYTES, SHAPE, Job, keys_of
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.report.versions import table, timeline, version_text
from gathercli.spec import rules
from gathercli.spec.decisions import every_decision
from gathercli.spec.dtypes import DTYPES
from gathercli.spec.op import OUT_OF_RANGE_CHOICES, Negative
from gathercli.text import listed
from man import prose
from man.prose import EXAMPLES, Block, Console, Page, Section, Terms, console

_WIDTH: Final = 72  # the width of verbatim lines, without the indent of a page


def _formats() -> Page:
    types = [f"{d.name:<20}{d.short:<15}{d.oip}" for d in DTYPES]
    return prose.page("formats", {"types": Console("\n".join(types))})


def _jobs() -> Page:
    defaults = {each.name: str(each.default) for each in fields(Job)}
    defaults |= {each.name: str(each.default) for each in OPERATORS[0].attrs}
    owners: dict[str, list[str]] = {}  # the operators with each input
    for name, family in FAMILIES.items():
        for each in family.ROWS[0].inputs:
            owners.setdefault(each.name, []).append(name)
    first = next(iter(FAMILIES))
    inputs = []
    for name, names in owners.items():
        of = "" if first in names else f" of {listed(names, 'and')}"
        inputs.append((name, f"{name.upper()}{of}, written likewise."))
    types = [
        (f"{name}_dtype", f"The type of {name.upper()}, as --{name.replace('_', '-')}-dtype.")
        for name in owners
    ]
    usual = keys_of(first).inputs
    required = [listed(usual, "and")] + [
        f"for {name} {listed(keys_of(name).inputs, 'and')}"
        for name in FAMILIES
        if keys_of(name).inputs != usual
    ]
    return prose.page(
        "jobs",
        defaults
        | {
            "inputs": Terms(tuple(inputs[1:])),
            "types": Terms(tuple(types)),
            "required": ", ".join(required),
            "each": listed([*FAMILIES, SHAPE]),
            "either": listed(FAMILIES),
            "negatives": listed(each.value for each in Negative),
            "outside": listed(OUT_OF_RANGE_CHOICES),
            "lines": ", ".join(LINE_SUFFIXES),
            "suffixes": listed(JOB_SUFFIXES),
            "longest": str(MAX_JOB_BYTES >> 20),
            "inline": str(INLINE_BYTES >> 20),
        },
    )


def _operators() -> Page:
    return prose.page(
        "operators",
        {
            "history": Console(timeline(OPERATORS, _WIDTH)),
            "versions": tuple(Console(version_text(op, _WIDTH)) for op in OPERATORS),
            "table": Console(table(OPERATORS)),
            "decisions": Terms(
                tuple(
                    (
                        each.id,
                        f"{listed(each.rows, 'and')}. {each.question} Decision: {each.choice} "
                        f"Why: {each.reason} Evidence: {each.evidence}.",
                    )
                    for each in every_decision()
                )
            ),
            "equivalents": Terms(tuple((each.name, _meaning(each)) for each in every_row())),
        },
    )


def _meaning(each: FrameworkRow) -> str:
    op = each.op
    words = [one.name.upper() for one in op.inputs]
    words += ["-a AXIS"] if op.attr("axis") and "axis" in each.call else []
    words += ["-b BATCH_DIMS"] if "batch_dims" in each.call else []
    sentences = (
        f"{each.call} equals {listed(each.rows, 'and')}" if each.rows else each.call,
        f"Here: `gathercli {op.family} {' '.join(words)} -V {op.id}`",
        f"An index from -s to -1 is {each.op.negative}, one outside [-s, s-1] {each.outside}",
        *(f"{line[0].upper()}{line[1:]}" for line in each.differs),
    )
    return "".join(f"{sentence}. " for sentence in sentences).rstrip()


_TOPICS: Final[dict[str, Callable[[], Page]]] = {
    "formats": _formats,
    "jobs": _jobs,
    "operators": _operators,
    "planning": partial(prose.page, "planning"),
}


def pages() -> Iterator[Page]:
    """Yield every page: gathercli(1), a page for each command, and those of `TOPICS`."""
    yield from map(page, (None, *COMMANDS, *TOPICS))


def examples() -> Iterator[Section]:
    """Yield the examples of each command, what each shows as the term of its line."""
    for command, every in EXAMPLES.items():
        yield command, (Terms(tuple((each.shows, each.command) for each in every)),)


def page(topic: str | None) -> Page:
    """Return the page of a command or a topic; of the program for None."""
    if topic is None:
        return _root()
    return _TOPICS[topic]() if topic in TOPICS else _command(topic)


def _root() -> Page:
    commands = tuple((f"gathercli {name}", each.help) for name, each in COMMANDS.items())
    meanings = tuple((name, text.replace("`", "")) for name, text in rules.statements().items())
    types = (f"{d.name} ({d.short})" if d.short != d.name else d.name for d in DTYPES)
    others = [f"gathercli-{name}(1)" for name in COMMANDS]
    others += [f"{each.name}({each.number})" for each in map(page, TOPICS)]
    tensors, *_ = _formats().blocks("TENSOR ARGUMENTS")
    return prose.page(
        "gathercli",
        {
            "commands": Terms(commands),
            "tensors": (tensors,),
            "types": ", ".join(types),
            "versions": _versions(*FAMILIES),
            "index": _index(),
            "rules": Terms((("version", "The operator has the version."), *meanings)),
            "examples": Console(console("gather") + "\n" + console("shape")),
            "pages": ", ".join(others),
        },
    )


def _command(command: str) -> Page:
    parameters = command_of(command).parameters.values()
    synopsis, examples = _synopsis(command, parameters), console(command)
    sections: dict[str, tuple[Block, ...]] = {
        "DESCRIPTION": _description(command),
        "ARGUMENTS AND OPTIONS": tuple(_parameters(parameters)),
    }
    if command in OF_MODELS:
        parameters = command_of(command, models=True).parameters.values()
        synopsis += "\n" + _synopsis(command, parameters)
        examples += "\n" + console(f"{command}-models")
        from man import models  # whose slice is there

        sections |= models.sections(command, tuple(_parameters(parameters)))
    sections = {"SYNOPSIS": (Console(synopsis),), **sections}
    if command in FAMILIES:
        sections |= {"VERSIONS": (_versions(command),), "INDICES": _index()}
    if examples:
        sections["EXAMPLES"] = (Console(examples),)
    sections["SEE ALSO"] = (
        "gathercli(1) has shapes, rules and exit statuses, gathercli-formats(5) tensors, "
        "gathercli-jobs(5) jobs, gathercli-operators(7) the versions.",
    )
    line = COMMANDS[command].help.rstrip(".")
    return Page(f"gathercli-{command}", line[0].lower() + line[1:], tuple(sections.items()))


def _synopsis(command: str, parameters: Iterable[Parameter]) -> str:
    arguments = " ".join(each.metavar or "" for each in parameters if not each.names)
    return f"gathercli {command} [OPTIONS] {arguments}".rstrip()


def _description(command: str) -> tuple[Block, ...]:
    values: dict[str, str | tuple[Block, ...]] = {
        **{name: family.ROWS[0].id for name, family in FAMILIES.items()},
        "operators": listed(FAMILIES),
        "calls": ", ".join(each.name for each in every_row()),
        "chunks": prose.sections("chunks")["CHUNKS"],
    }
    return prose.sections_of_all("commands", values).get(command, (COMMANDS[command].help,))


def _index() -> tuple[Block, ...]:
    """Return the paragraph on indices of several pages."""
    return _operators().blocks("INDICES")[:1]


def _versions(*families: str) -> Terms:
    texts = {
        op.full_name: f"Legal indices {op.index_range.value}, others {op.out_of_range.done}; "
        f"{op.changes.replace('`', '')}."
        for op in OPERATORS
        if op.family in families
    }
    return Terms(tuple(texts.items()))


def _parameters(parameters: Iterable[Parameter]) -> Iterator[Block]:
    """Yield the arguments, then the options by group."""
    groups: dict[str, list[tuple[str, str]]] = {MESSAGES: []}
    arguments = []
    for each in parameters:
        if not each.names:
            arguments.append((each.label, each.help))
        elif not each.hidden:
            groups.setdefault(each.group, []).append((each.label, each.help))
    groups[MESSAGES].append(
        (HELP.label, "Show the options and exit; with --all, the rare ones, too.")
    )
    yield Terms(tuple(arguments))
    for name in GROUPS:
        if name in groups:
            yield from (f"{name}:", Terms(tuple(groups[name])))
