"""The manual: what its pages say, from the declarations of commands, versions and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gathercli.cli.groups import GROUPS, MESSAGES
from gathercli.cli.main import COMMANDS, load
from gathercli.cli.manual import formats, jobpage, operators
from gathercli.cli.manual.examples import console
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.report.manual import Block, Console, Page, Terms
from gathercli.report.versions import cells
from gathercli.spec import rules
from gathercli.spec.dtypes import DTYPES
from gathercli.spec.equivalents import EQUIVALENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNKS: Final = (
    "Of a .zarr tensor only the chunks are read that the indices are in. Of a .zarr output as much "
    "is made at a time as --max-bytes allows, for which each chunk of DATA is read once, and each "
    "chunk is written once; it has its name when all are there. With --scheduler or "
    "--scheduler-file the workers of a dask scheduler make it, each thread with 1 GiB or what "
    "--max-bytes says. gathercli-formats(5) says what is read, gathercli-batch(1) whom to trust."
)

DESCRIPTIONS: Final[dict[str, tuple[Block, ...]]] = {
    "gather": (
        "Copies slices of DATA along an axis: out[p, i, s] = data[p, indices[p[:b], i], s], where "
        "p are the coordinates before the axis, i those of INDICES and s those after the axis, "
        "and b is the number of batch dimensions.",
        "The version decides which index values are legal and what becomes of the others. The "
        f"default is {FAMILIES['gather'].ROWS[0].id}.",
        _CHUNKS,
    ),
    "gather-elements": (
        "Copies one element of DATA for every element of INDICES: out[c] = data[c with c[axis] := "
        "indices[c]]. INDICES have the rank of DATA, and the output has their shape. The default "
        f"version is {FAMILIES['gather-elements'].ROWS[0].id}; OpenVINO requires `--axis`.",
        _CHUNKS,
    ),
    "shape": (
        "Infers the shape of the output from the shapes of the inputs, which may hold unknown "
        "dimensions, intervals and symbols, and refuses what the operator would refuse for its "
        "shapes. OP is gather or gather-elements; `--axis unknown` says that OpenVINO's Gather "
        "gets its axis at run time.",
        "A shape is written [2,?,1..5,3..,N], with or without brackets, or 2x5; [] is 0-D and "
        "[...] of unknown rank. A word that parses as a shape is one; anything else is a tensor, "
        "of which a .npy file gives only its header.",
    ),
    "explain": (
        "Draws data, indices and output side by side. The same letter, and colour where there is "
        "colour, marks a part of DATA, the index that picks it and where it lands; -1 → 3 is an "
        "index counted from the end, 99 → none one that points nowhere. Below stand examples "
        "traced through the equation, the output shape term by term, and how much of DATA is read.",
        "Batches stand side by side, leading dimensions below each other; of what is large the "
        "edges are shown, and of DATA what they pick. --window shows another part. --cell traces "
        "one output cell in words, --step all of them. -f json gives the way of every cell as "
        "data: its coordinates, those of the index and of the cell of DATA it copies.",
        "Where an index is refused it is shown in its place, and the refusal follows. --save keeps "
        "the picture, 100 columns wide, for light and dark pages; it refers to nothing outside.",
    ),
    "check": (
        "Lists the indices that the version does not simply address, with their coordinates and "
        "what becomes of each (refused, zero-filled, clamped, wrapped, counted from the end by an "
        "option), the verdict of every version of the operator, and warnings. OP is gather or "
        "gather-elements. No output is made, and indices of any number take little memory.",
        "The status is 1 where an index is refused or filled with zeros (with --allow-fill, only "
        "where it is refused), and 65 where a rule of shapes, types or attributes refuses the "
        "call; the verdicts of the other versions are printed even then. -f json prints one object "
        "with all of it.",
    ),
    "compare": (
        "Tries the inputs with every version of every operator, or those that --ops lists, and "
        "says what each gives: the shape, how many indices were filled or moved, or the rule that "
        "refuses. Versions with the same letter give the same shape and values; NaN equals NaN, "
        "-0.0 equals 0.0.",
        "Below stands, for every two letters, the first cell where they differ and what each has "
        "there, or their shapes. Results are made and compared block by block and never held; "
        "one that would be larger than --max-bytes (16 GiB by default) is refused. The status is "
        "0 even if every version refuses.",
    ),
    "batch": (
        "Does the jobs of files, in a few processes, and writes a line of report for each. A job "
        "is a JSON object: a line of a .jsonl file, or one or a list of them in a .json file. "
        "gathercli-jobs(5) has its keys, and those of the report.",
        "All jobs are looked at before the first is done: their keys and values, ids that repeat, "
        "outputs that repeat, are inputs or lie outside the folder. If something is wrong nothing "
        "is done and nothing is written. --dry-run goes on to infer every shape, from headers "
        "where files have them, and to find the rules that refuse; index values are not looked at.",
        "Then they run. If one fails, the others still run, unless --fail-fast or "
        "--max-failures ends the run. If a process dies, or is ended by --timeout, the job that it "
        "was at has failed and another process goes on. Outputs appear whole or not at all. On a "
        "terminal stderr shows how far it is, elsewhere a line every ten seconds; at the end "
        "stand the notes, how many jobs ended how, and what failed by cause. -q silences that.",
        "The report goes to stdout in the order of the jobs; on a terminal it is a line for a "
        "person each, up to 40 jobs, and a summary. With --report it goes to a file, a line as "
        "soon as a job and those before it have ended, so that what is there after a kill is "
        "true. A report that is there already is not replaced: --resume does what it does not "
        "have, or what has changed since, --resume-failed also what failed; either begins a report "
        "that is not there. Two runs on one report exclude each other.",
        "Without a job file --op makes a job for each file that --data finds, its path the id. In "
        "--indices, --output and --expect {stem} stands for the name of the file without its "
        "suffix, {name} for that with it, {dir} for its folder below the first *. --matrix makes "
        "a job for every combination of values of axis, batch_dims, version, negative, "
        "out_of_range, data_dtype and indices_dtype, which {axis} and the like stand for.",
        "A result in the report takes at most 64 MiB, an output 16 GiB; what jobs hold in memory "
        "is divided between the processes. --max-bytes sets all three for each job.",
        "With --scheduler or --scheduler-file the workers of a dask scheduler do the jobs, with "
        "the same report. They and the scheduler need this version of gathercli, and see the same "
        "files at the same paths; a worker does a job for each of its threads, and divides its "
        "memory between them. The jobs of one that dies are done by others. If the scheduler "
        "cannot be reached, or goes away, the status is 74. Its protocol loads pickles: use only "
        "one you trust, and TLS where others reach it.",
        "The status is 0 if every job is ok, else 1; 2 for usage, 65 if the jobs are wrong as a "
        "whole, 66 if a file of jobs cannot be read, 73 if the report is there or cannot be "
        "written. 129, 130 and 143 leave a report that --resume goes on with.",
    ),
    "convert": (
        "Reads each source in any format and writes it in that of DEST, which its suffix or --to "
        "names. With -d, or where DEST is a folder, every source becomes a file there, named after "
        "it. If one is refused, the others are still written, and the status is that of the first "
        "refusal.",
        "An archive of several tensors becomes one file where the format holds several (npz, json, "
        "oip, safetensors), and in a folder a file for every member where it does not, named "
        "STEM.MEMBER, with _ for what a name of a file cannot have. Several sources become one "
        "file of such a format, each under the stem of its name. Sources that would get one name "
        "are refused before anything is read. The metadata of .safetensors is not kept.",
        "Elements keep their type unless --dtype names another, which must hold every one of them "
        "exactly. With --lossy they are rounded to the nearest, half to even, and booleans become "
        "0 and 1; --truncate makes integers of floats towards zero. What would overflow is still "
        "refused, and a note counts the elements that changed.",
    ),
    "info": (
        "Describes each file, or any tensor: format, type, shape, bytes, memory order; smallest "
        "and largest element with their first coordinates, mean, how many are NaN or infinite, a "
        "histogram of 16 bins or fewer, a preview. Where a file has several tensors they are "
        "listed, and FILE#name describes one.",
        "Minimum and maximum are of all that is not NaN, mean and histogram of all that is finite. "
        "The mean is that of the exact sum, rounded once. "
        "The elements are read block by block, so that a .npy file may be larger than memory; with "
        "--header none is read. -f json prints a line for every file.",
    ),
    "demo": (
        "Shows a lesson: what the operator does, the command to type, its picture, and what to try "
        "next. Each is an example of a specification. Without NAME it is the first; --list names "
        "them, and --all shows one after the other, on a terminal a key at a time.",
    ),
    "ops": (
        "Without ID, tells what each operator version changed, and which indices each takes. With "
        "ID (openvino.Gather-8, openvino-8, an opset such as onnx-12), writes out what that "
        "version takes, which indices are legal, what becomes of the others, the rules that can "
        "refuse, in the order they are checked, and what was decided where the text is silent.",
        "--diff compares two versions field by field, a line with - of the first above one with + "
        "of the second, and says what becomes of a model that moves. An opset that both operators "
        "have means the operator of the other version, or else Gather. --like writes out what "
        f"equals a call of another framework, and what would make it equal: "
        f"{', '.join(each.name for each in EQUIVALENTS)}; np., jnp. and tf. are known. "
        "--decisions lists what was decided, and why.",
    ),
    "man": ("Shows this manual, or the page of a command.",),
    "completion": (
        "Prints the completion script of a shell: bash, zsh or fish. It completes options, "
        "versions, types and lessons, and after # the members of a file and the ids of its jobs, "
        "for which it runs gathercli.",
        Terms(
            (
                ("bash", 'eval "$(gathercli completion bash)" in ~/.bashrc'),
                ("zsh", "gathercli completion zsh > a file _gathercli in a folder of $fpath"),
                ("fish", "gathercli completion fish > ~/.config/fish/completions/gathercli.fish"),
            )
        ),
    ),
}

SHAPES: Final = (
    "A shape is written [2,?,1..5,3..,N], or without brackets, or as 2x5: sizes, unknown "
    "dimensions (?, _ or -1), intervals, and symbols, which are identifiers. [] is 0-D and [...] "
    'of unknown rank; the JSON list ["N",2,"1..5","?"] is read too, and (2, 3) or '
    "torch.Size([2, 3]), as Python prints them.",
    "Where two dimensions must be equal, they meet: equal symbols stay, a symbol gives way to a "
    "number or an interval, of two different symbols that of DATA stays, intervals intersect, and "
    "an empty intersection is refused.",
)

INPUT_RULES: Final = Terms(
    (
        ("missing, unreadable", "There is no such file, or it cannot be read."),
        ("format", "The content is of no format that is read, or not what its format says."),
        ("npy, npz, json, ragged", "The content is not what its format says."),
        ("literal, shape-text", "A literal or a shape is malformed."),
        ("dtype", "A type cannot hold a value, or there is no such type."),
        ("output", "The result cannot be written."),
        ("expect", "The result is not what `--expect` says."),
        ("job", "A job is wrong, or two jobs are in each other's way."),
        ("died, timeout", "What did a job of a batch died, or took too long."),
        ("scheduler", "A scheduler cannot be reached, or its workers cannot do the jobs."),
    )
)

STATUSES: Final = Terms(
    (
        ("0", "Done."),
        (
            "1",
            "The answer is no: --expect differs, check found an index that is refused or filled, a "
            "job of a batch failed.",
        ),
        ("2", "Usage: an unknown option, command, version, type or suffix."),
        ("65", "The data or the operator's rules refuse."),
        ("66", "An input is absent, unreadable, a directory or a device."),
        ("70", "A bug in gathercli."),
        ("73", "The output cannot be created."),
        ("74", "Reading or writing failed on the way, or an input changed meanwhile."),
        ("129, 130, 143", "The terminal closed, interrupted, terminated."),
        ("141", "The reader of the output went away."),
    )
)

ENVIRONMENT: Final = Terms(
    (
        (
            "NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR=0, TERM=dumb",
            "Colour, in this order of precedence: --color first, the terminal last.",
        ),
        (
            "PAGER, LESS",
            "What man and ops show more than a screen of text with, on a terminal: without PAGER "
            "less, which then gets the options FRX, and nothing where PAGER is empty or cat.",
        ),
        (
            "COLUMNS, LINES",
            "The size of the screen, in place of what the terminal says. In a pipe tables and "
            "pictures are cut to COLUMNS; without it they are cut to nothing.",
        ),
    )
)


PLANNING: Final = "planning"


def _planning() -> Page:
    """Write the page that reckons with what computes, which needs numpy."""
    from gathercli.cli.manual import planning

    return planning.page()


TOPICS: Final = {
    formats.NAME: formats.page,
    jobpage.NAME: jobpage.page,
    operators.NAME: operators.page,
    PLANNING: _planning,
}
"""The pages that are about no command."""


def pages() -> Iterator[Page]:
    """Make every page: gathercli(1), one a command, and those of `TOPICS`."""
    yield _root()
    for name in COMMANDS:
        yield page(name)
    for make in TOPICS.values():
        yield make()


def page(topic: str | None) -> Page:
    """Make the page of a command or of a topic; of the program for None."""
    if topic is None:
        return _root()
    return TOPICS[topic]() if topic in TOPICS else _command(topic)


def _command(command: str) -> Page:
    made = load(command)
    arguments = " ".join(p.metavar or "" for p in made.params if p.param_type_name == "argument")
    sections: list[tuple[str, tuple[Block, ...]]] = [
        ("SYNOPSIS", (Console(f"gathercli {command} [OPTIONS] {arguments}".rstrip()),)),
        ("DESCRIPTION", DESCRIPTIONS[command]),
        ("ARGUMENTS AND OPTIONS", tuple(_parameters(made))),
    ]
    if command in FAMILIES:
        sections += [("VERSIONS", (_versions(command),)), ("INDICES", (operators.INDEX,))]
    sections.append(("EXAMPLES", (Console(console(command)),)))
    sections.append(
        (
            "SEE ALSO",
            (
                "gathercli(1) has shapes, rules and exit statuses, gathercli-formats(5) tensors, "
                "gathercli-jobs(5) jobs, gathercli-operators(7) the versions.",
            ),
        )
    )
    return Page(f"gathercli-{command}", _summary(COMMANDS[command].help), tuple(sections))


def _root() -> Page:
    commands = tuple((f"gathercli {name}", each.help) for name, each in COMMANDS.items())
    named = tuple((name, said.replace("`", "")) for name, said in rules.SAID.items())
    version = ("version", "The operator has the version.")
    others = [f"gathercli-{name}(1)" for name in COMMANDS]
    others += [f"gathercli-{formats.NAME}(5)", f"gathercli-{jobpage.NAME}(5)"]
    others += [f"gathercli-{operators.NAME}(7)", f"gathercli-{PLANNING}(7)"]
    types = ", ".join(f"{d.name} ({d.short})" if d.short != d.name else d.name for d in DTYPES)
    return Page(
        "gathercli",
        "Gather and GatherElements, exactly as each OpenVINO and ONNX version says",
        (
            (
                "SYNOPSIS",
                (
                    Console(
                        "gathercli COMMAND [OPTIONS] ARGUMENTS\n"
                        "gathercli help [COMMAND]\n"
                        "gathercli --version"
                    ),
                ),
            ),
            (
                "DESCRIPTION",
                (
                    "Applies a version of an operator to tensors from files, literals or a pipe. "
                    "On a terminal the result is shown with the row that ran, the shapes and the "
                    "shape formula; in a pipe it is plain JSON on one line. -f and -o choose "
                    "another format.",
                    "Large files are mapped, and the result is written block by block, a file of "
                    "elements by the threads that -j allows: memory does not grow with them. A "
                    "pipe of more than 64 MiB of elements goes through an unnamed file in the "
                    "folder for temporary files (TMPDIR). On a terminal, work of more than a "
                    "second says on stderr how far it is; -q keeps it quiet.",
                ),
            ),
            ("COMMANDS", (Terms(commands),)),
            (
                "TENSORS",
                (formats.TENSORS, f"Types: {types}.", "gathercli-formats(5) has the details."),
            ),
            ("SHAPES", SHAPES),
            ("VERSIONS", (_versions(*FAMILIES),)),
            ("INDICES", (operators.INDEX,)),
            (
                "RULES",
                (
                    "A refusal names the rule that refused; these are tried in this order.",
                    Terms((version, *named)),
                    "What is read and written has rules of its own.",
                    INPUT_RULES,
                ),
            ),
            ("EXIT STATUS", (STATUSES,)),
            ("ENVIRONMENT", (ENVIRONMENT,)),
            ("EXAMPLES", (Console(console("gather") + "\n" + console("shape")),)),
            ("SEE ALSO", (", ".join(others),)),
        ),
    )


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


def _parameters(made: Any) -> Iterator[Block]:
    """Write the arguments, then the options by their groups."""
    groups: dict[str, list[tuple[str, str]]] = {MESSAGES: []}
    arguments = []
    for param in made.params:
        if param.param_type_name == "argument":
            arguments.append((param.metavar, param.help))
        elif not param.hidden:
            group = groups.setdefault(param.rich_help_panel, [])
            group.append((_names(param), param.help))
    groups[MESSAGES].append(("-h, --help", "Show the options and exit."))
    yield Terms(tuple(arguments))
    for name in GROUPS:
        if name in groups:
            yield f"{name}:"
            yield Terms(tuple(groups[name]))


def _names(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    choices = getattr(param.type, "choices", None)
    value = param.metavar or "|".join(map(_choice, choices or ()))
    return names if param.is_flag else f"{names} {value}"


def _choice(choice: Any) -> str:
    return str(getattr(choice, "value", choice))
