"""The pages of the manual: prose with values from the declarations of commands and versions."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from gathercli.cli.declarations import GROUPS, MESSAGES, Argument, Option
from gathercli.cli.manual import prose
from gathercli.cli.manual.prose import Block, Console, Page, Terms, console
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.io.formats.table import FORMATS, MODELS
from gathercli.io.jobfile import JOB_SUFFIXES, LINE_SUFFIXES, MAX_JOB_BYTES
from gathercli.io.jobs import INLINE_BYTES, SHAPE, Job, keys_of
from gathercli.ops import FAMILIES, OPERATORS, version_named
from gathercli.report.versions import cells, table, timeline, version_text
from gathercli.slices import given
from gathercli.spec import rules
from gathercli.spec.decisions import every_decision
from gathercli.spec.dtypes import DTYPES
from gathercli.spec.equivalents import every_equivalent
from gathercli.spec.op import Negative, OutOfRange
from gathercli.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gathercli.cli.declarations import Parameter
    from gathercli.spec.equivalents import Equivalent

_WIDTH: Final = 72
"""The width of verbatim lines, without the indent of a page."""


def _formats() -> Page:
    types = [f"{d.name:<20}{d.short:<15}{d.oip}" for d in DTYPES]
    headings = {name: row.heading(name) for name, row in (FORMATS | MODELS).items()}
    return prose.page("formats", headings | {"types": Console("\n".join(types))})


def _jobs() -> Page:
    op = OPERATORS[0]
    defaults = {each.name: str(each.default) for each in fields(Job)}
    defaults |= {each.name: str(each.default) for each in op.attrs}
    return prose.page(
        "jobs",
        defaults
        | {
            "inputs": Terms(tuple(_other_inputs())),
            "types": Terms(tuple(_types())),
            "required": _required(),
            "each": listed([*FAMILIES, SHAPE]),
            "either": listed(FAMILIES),
            "negatives": listed(each.value for each in Negative),
            "outside": listed(each.value for each in OutOfRange),
            "lines": ", ".join(LINE_SUFFIXES),
            "suffixes": listed(JOB_SUFFIXES),
            "longest": str(MAX_JOB_BYTES >> 20),
            "inline": str(INLINE_BYTES >> 20),
        },
    )


def _required() -> str:
    """List the required inputs of a job, and the operators for which they differ."""
    usual: tuple[str, ...] = ()
    texts: list[str] = []
    for family in FAMILIES:
        inputs = keys_of(family).inputs
        usual = usual or inputs
        if inputs != usual or not texts:
            owner = "" if inputs == usual else f"for {family} "
            texts.append(owner + listed(inputs, "and"))
    return ", ".join(texts)


def _inputs() -> dict[str, list[str]]:
    """Return the operators with each input."""
    names: dict[str, list[str]] = {}
    for family in FAMILIES.values():
        for each in family.ROWS[0].inputs:
            names.setdefault(each.name, []).append(family.COMMAND)
    return names


def _other_inputs() -> Iterator[tuple[str, str]]:
    """Yield a description of each job key of an input but the first."""
    for name, commands in list(_inputs().items())[1:]:
        owners = "" if next(iter(FAMILIES)) in commands else f" of {listed(commands, 'and')}"
        yield name, f"{name.upper()}{owners}, written likewise."


def _types() -> Iterator[tuple[str, str]]:
    for name in _inputs():
        key = f"{name}_dtype"
        yield key, f"The type of {name.upper()}, as --{key.replace('_', '-')}."


def _operators() -> Page:
    return prose.page(
        "operators",
        {
            "history": Console(timeline(OPERATORS, _WIDTH)),
            "versions": tuple(Console(version_text(op, _WIDTH)) for op in OPERATORS),
            "table": Console(table(OPERATORS)),
            "decisions": Terms(tuple(_decisions())),
            "equivalents": Terms(tuple((each.name, _meaning(each)) for each in every_equivalent())),
        },
    )


def _decisions() -> Iterator[tuple[str, str]]:
    for each in every_decision():
        yield (
            each.id,
            f"{listed(each.rows, 'and')}. {each.question} Decision: {each.choice} "
            f"Why: {each.reason} Evidence: {each.evidence}.",
        )


def _meaning(each: Equivalent) -> str:
    op = version_named(each.rows[0])
    words = [one.name.upper() for one in op.inputs]
    words += ["-a AXIS"] if op.attr("axis") and "axis" in each.call else []
    words += ["-b BATCH_DIMS"] if "batch_dims" in each.call else []
    sentences = (
        f"{each.call} equals {listed(each.rows, 'and')}",
        f"Here: `gathercli {op.family} {' '.join(words)} -V {op.id}`",
        f"An index from -s to -1 is {each.negative}, one outside [-s, s-1] {each.outside}",
        *(f"{line[0].upper()}{line[1:]}" for line in each.differs),
    )
    return "".join(f"{sentence}. " for sentence in sentences).rstrip()


def _planning() -> Page:
    return prose.page("planning")


TOPICS: Final = {"formats": _formats, "jobs": _jobs, "operators": _operators, "planning": _planning}
"""The pages about topics other than commands."""


def pages() -> Iterator[Page]:
    """Yield every page: gathercli(1), a page for each command, and those of `TOPICS`."""
    yield _root()
    for name in COMMANDS:
        yield page(name)
    for make in TOPICS.values():
        yield make()


def page(topic: str | None) -> Page:
    """Return the page of a command or a topic; of the program for None."""
    if topic is None:
        return _root()
    return TOPICS[topic]() if topic in TOPICS else _command(topic)


def _root() -> Page:
    commands = tuple((f"gathercli {name}", each.help) for name, each in COMMANDS.items())
    meanings = tuple((name, text.replace("`", "")) for name, text in rules.STATEMENTS.items())
    types = (f"{d.name} ({d.short})" if d.short != d.name else d.name for d in DTYPES)
    others = [f"gathercli-{name}(1)" for name in COMMANDS]
    others += [f"{each.name}({each.number})" for each in (make() for make in TOPICS.values())]
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
        sections |= given("manual", command)(tuple(_parameters(parameters)))
    sections = {"SYNOPSIS": (Console(synopsis),), **sections}
    if command in FAMILIES:
        sections |= {"VERSIONS": (_versions(command),), "INDICES": _index()}
    if examples:
        sections["EXAMPLES"] = (Console(examples),)
    sections["SEE ALSO"] = (
        "gathercli(1) has shapes, rules and exit statuses, gathercli-formats(5) tensors, "
        "gathercli-jobs(5) jobs, gathercli-operators(7) the versions.",
    )
    return Page(f"gathercli-{command}", _summary(COMMANDS[command].help), tuple(sections.items()))


def _synopsis(command: str, parameters: Iterable[Parameter]) -> str:
    arguments = " ".join(each.metavar or "" for each in parameters if isinstance(each, Argument))
    return f"gathercli {command} [OPTIONS] {arguments}".rstrip()


def _description(command: str) -> tuple[Block, ...]:
    values: dict[str, str | tuple[Block, ...]] = {
        **{name: family.ROWS[0].id for name, family in FAMILIES.items()},
        "operators": listed(FAMILIES),
        "calls": ", ".join(each.name for each in every_equivalent()),
        "chunks": prose.sections("chunks")["CHUNKS"],
    }
    return prose.sections_of_all("commands", values).get(command, (COMMANDS[command].help,))


def _index() -> tuple[Block, ...]:
    """Return the paragraph on indices of several pages."""
    return _operators().blocks("INDICES")[:1]


def _summary(line: str) -> str:
    return line[0].lower() + line[1:].rstrip(".")


def _versions(*families: str) -> Terms:
    pairs = []
    for op in OPERATORS:
        if op.family in families:
            name, legal, other, _, changes = cells(op)
            changes = changes.replace("`", "")
            pairs.append((name, f"Legal indices {legal}, others {other}; {changes}."))
    return Terms(tuple(pairs))


def _parameters(parameters: Iterable[Parameter]) -> Iterator[Block]:
    """Yield the arguments, then the options by group."""
    groups: dict[str, list[tuple[str, str]]] = {MESSAGES: []}
    arguments = []
    for each in parameters:
        if not isinstance(each, Option):
            arguments.append((each.metavar or "", each.help))
        elif not each.hidden:
            groups.setdefault(each.group, []).append((_names(each), each.help))
    groups[MESSAGES].append(
        ("-h, --help", "Show the options and exit; with --all, the rare ones, too.")
    )
    yield Terms(tuple(arguments))
    for name in GROUPS:
        if name in groups:
            yield f"{name}:"
            yield Terms(tuple(groups[name]))


def _names(option: Option) -> str:
    names = ", ".join(sorted(option.names, key=len))
    value = option.metavar or "|".join(option.choices)
    return names if option.kind is bool else f"{names} {value}"
