"""A node of a model as a call, ``gather model.onnx#/emb/Gather --feed ids.npy``, or as jobs.

The words become those of the call itself, with its operator, its version, its attributes, its
constants by name and the tensors that are fed::

    gather @model.onnx#/emb/Gather:data ids.npy --indices-dtype int64 -V onnx-13 --axis 0

A job of `batch` may name its node, ``{"node": "model.onnx#/emb/Gather"}``, or a line names one for
all of its jobs: ``batch model.onnx#/emb/Gather --feed 'ids/*.npy'``.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.cli.declarations import HELP
from gathercli.cli.options import Limits, option_name
from gathercli.cli.parser import is_option, words_of
from gathercli.cli.registry import command_of
from gathercli.errors import GatherError, InputError, UsageError
from gathercli.io.formats import jsontext
from gathercli.models.files import ReadOptions, read
from gathercli.ops import FAMILIES
from gathercli.spec.dtypes import INT64, Kind, named
from gathercli.text import clean, closest, counted, listed, short, value_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gathercli.batch.patterns import PatternCall
    from gathercli.io.graphs.graph import Value
    from gathercli.io.jobfile import JobEntry
    from gathercli.models.graph import Model, ModelNode


# The commands whose first argument is the operator.
_OPERATOR_FIRST: Final = ("shape", "explain", "check", "diagnose", "reproduce", "translate")
_COMMAND_OF_OUTPUTS: Final = "diagnose"  # the command whose last argument is an output
_COMMAND_OF_ANY: Final = "gather"  # the command that runs a node of any operator
_COMMAND_OF_MODELS: Final = "check"  # the command that takes whole models, too

_WITHOUT_VERSION: Final = ("compare",)
_COMPARED: Final = frozenset(("--ops", "--of", "--with"))  # what `compare` is asked for

_COMMAND_OF_SHAPES: Final = "shape"  # the command that needs no elements
# The start of a tensor that holds an equals sign, or may: `2xi64=0`, `xf32=1`.
_LITERAL_START: Final = re.compile(r"[\d?]|x[a-z]+\d+\w*=|\w+:|@")

# What may name an input, and begins neither a literal nor the name of a tensor in a file.
_BARE_NAME: Final = re.compile(r"[^\[{\"#,]+")
_UNTYPED_RANDOM: Final = re.compile(r"rand:\d+(x\d+)*")

# The commands that take a call.
CALL_COMMANDS: Final = (*FAMILIES, *_OPERATOR_FIRST, *_WITHOUT_VERSION)


class _Words(NamedTuple):
    """The words of a command."""

    arguments: list[str]
    feeds: list[str]  # the values of `--feed`
    options: list[str]  # all others, with their values
    names: dict[str, str | None]  # the last value of each of those, by its names, short and long


MODEL_NODE: Final = re.compile(r"(?is)@?(?P<path>.+\.(?:onnx|xml))(?:#(?P<name>.+))?")
"""A model and the name of a node; a model with one node needs no name."""


def expand(words: Sequence[str]) -> list[str]:
    """Return the words of the call that a node stands for; other words stay as they are.

    Raise UsageError if an input that comes at run time is not fed, or a feed has no input.
    """
    command, *rest = words
    if command not in CALL_COMMANDS or not {*HELP.names}.isdisjoint(rest):
        return list(words)
    parsed = _parse(command, rest)
    match = _node_of(command, parsed.arguments)
    if match is None:
        return list(words)
    path = match["path"]
    limit = Limits.parse(parsed.names.get("--max-bytes")).memory
    reading = ReadOptions(infer=command == _COMMAND_OF_SHAPES, limit=limit)
    node = read_node(path, match["name"], reading)
    if not reading.infer and any(v.dtype is None for v in node.run_time_inputs.values()):
        # Inference takes longer than all else, so that only a feed without a type waits for it.
        node = read_node(path, match["name"], reading._replace(infer=True))
    family = node.family.COMMAND
    lead = [command, family] if command in _OPERATOR_FIRST else [command]
    if command in FAMILIES:
        lead = [family]
        if command not in (family, _COMMAND_OF_ANY):
            what = f"the node `{clean(node.name)}` is a {node.operator}"
            hint = f"`{_COMMAND_OF_ANY}` runs any node"
            raise UsageError(what, value=command, expected=f"`{family}`", hint=hint)
    tokens, types = _inputs(command, path, node, parsed)
    tokens += parsed.arguments[parsed.arguments.index(match.string) + 1 :]
    mark = ["--"] if any(map(is_option, tokens)) else []
    return [*lead, *parsed.options, *types, *_settings(command, node, parsed), *mark, *tokens]


def _parse(command: str, words: Sequence[str]) -> _Words:
    parameters = command_of(command).parameters.values()
    parsed = _Words([], [], [], {})
    lacking = None  # the option whose value is the next word
    for text, option, value, _, declared in words_of(parameters, words):
        if option is None:
            parsed.arguments.append(text)
            continue
        lacking = declared if declared and declared.count and value is None else None
        if option == text == "--":
            continue
        if option == "--feed":
            parsed.feeds.extend([] if value is None else [value])
            continue
        parsed.options.append(text)
        if declared is not None:
            parsed.names.update(dict.fromkeys(declared.names, value))
    if lacking is not None:
        name = words[-1]
        expected = f"{name} {lacking.metavar}" if lacking.metavar else f"a value of {name}"
        raise UsageError("has no value", subject=name, value=name, expected=f"`{expected}`")
    return parsed


def _node_of(command: str, arguments: Sequence[str]) -> re.Match[str] | None:
    """Return the file and the name of a node that stands for all inputs."""
    if command in _OPERATOR_FIRST and len(arguments) > 1 and arguments[0] in FAMILIES:
        arguments = arguments[1:]
    if command == _COMMAND_OF_OUTPUTS and len(arguments) == 2:
        arguments = arguments[:1]
    match = MODEL_NODE.fullmatch(arguments[0]) if len(arguments) == 1 else None
    return None if match and command == _COMMAND_OF_MODELS and not match["name"] else match


def _inputs(
    command: str, path: str, node: ModelNode, parsed: _Words
) -> tuple[list[str], list[str]]:
    """Return a word for each input, and options with the types of those that are fed."""
    feeds = feeds_of(node, parsed.feeds)
    if command != _COMMAND_OF_SHAPES:
        check_fed(node, feeds)
    tokens, types = [], []
    for name, value in node.named_inputs.items():
        if name in feeds:
            tokens.append(typed_token(feeds[name], value))
        elif value.constant is not None:
            tokens.append(constant_token(path, node, name))
            continue
        else:
            tokens.append(str(value.shape))
        option, dtype = f"{option_name(name)}-dtype", dtype_of(value)
        if dtype is not None and option not in parsed.names:
            types += [option, dtype]
    return tokens, types


def typed_token(token: str, value: Value) -> str:
    """Add the declared type to random numbers, whose own type holds more digits."""
    dtype = value.dtype
    untyped = dtype is not None and dtype.kind is Kind.FLOAT and _UNTYPED_RANDOM.fullmatch(token)
    return f"{token}x{dtype.short}" if dtype is not None and untyped else token


def check_fed(node: ModelNode, feeds: Mapping[str, str]) -> None:
    """Raise if an input that comes at run time is not fed."""
    absent = {name: each for name, each in node.run_time_inputs.items() if name not in feeds}
    if absent:
        what = (
            f"{listed(map(_described, absent, absent.values()), 'and')} of the node "
            f"`{clean(node.name)}` {'come' if len(absent) > 1 else 'comes'} at run time"
        )
        raise UsageError(what, value=node.name, expected="`--feed`", hint=_example(absent))


def _described(name: str, value: Value) -> str:
    """Return the name of an input, with those of its value and of its source if they differ."""
    others = [f"`{clean(short(each))}`" for each in feed_names(name, value) if each != name]
    return f"`{name}`" + (f" ({listed(others, 'and')} in the model)" if others else "")


def _example(absent: Mapping[str, Value]) -> str | None:
    """Return a hint that feeds zeros, of size 2 where the model does not say; None for text."""
    if any(each.dtype is None or each.shape.rank is None for each in absent.values()):
        words = [f"--feed {name}={name}.npy" for name in absent]
        return f"`{' '.join(words)}` feeds {'files' if len(words) > 1 else 'a file'}"
    words = []
    for name, value in absent.items():
        dtype = value.dtype or INT64
        if not dtype.integral and dtype.kind is not Kind.FLOAT:
            return None
        sizes = [str(size) if isinstance(size, int) else "2" for size in value.shape]
        words.append(f"--feed {name}={'x'.join([*(sizes or ['']), dtype.short])}=0")
    return f"`{' '.join(words)}` feeds zeros"


def feeds_of(node: ModelNode, words: Sequence[str]) -> dict[str, str]:
    """Return the tensors that are fed by the names of their inputs."""
    inputs = node.named_inputs
    names: dict[str, list[str]] = {name: [name] for name in inputs}
    for name, value in inputs.items():
        for each in feed_names(name, value):
            if each not in inputs:
                names.setdefault(each, []).append(name)
    free = list(node.run_time_inputs)
    feeds: dict[str, str] = {}
    unnamed: list[str] = []
    for word in words:
        name, mark, token = word.partition("=")
        if mark and name in names:
            feeds |= dict.fromkeys(names[name], token)
        else:
            _check_name(word, name if mark else "", names)
            unnamed.append(word)
    left = [name for name in free if name not in feeds]
    if len(unnamed) > len(left):
        node_name, verb = f"the node `{clean(node.name)}`", "come" if len(free) > 1 else "comes"
        reason = f"of {node_name} {counted(len(free), 'input')} {verb}"
        if not free:
            reason = f"no input of {node_name} comes"
        what = f"`--feed {clean(unnamed[len(left)])}` has no input: {reason} at run time"
        expected = listed(f"`{name}=`" for name in inputs)
        raise UsageError(what, value=unnamed[len(left)], expected=expected)
    return feeds | dict(zip(left, unnamed, strict=False))


def feed_names(name: str, value: Value) -> list[str]:
    """Return the names by which an input can be fed: its own, its value's, the model's input's."""
    return [*dict.fromkeys(filter(None, (name, value.name, value.source)))]


def _check_name(word: str, name: str, names: Collection[str]) -> None:
    """Raise if the word before an equals sign is none of the names, and the whole no tensor."""
    if not name or _LITERAL_START.match(word) or not _BARE_NAME.fullmatch(name):
        return
    if not os.path.exists(word):
        near = closest(name, names)
        what, token = f"the node has no input `{clean(short(name))}`", word.partition("=")[2]
        expected = listed(f"`{clean(short(each))}=`" for each in names)
        hint = f"did you mean `--feed {clean(near)}={token}`?" if near else None
        raise UsageError(what, value=word, expected=expected, hint=hint)


def _settings(command: str, node: ModelNode, parsed: _Words) -> list[str]:
    """Return options with the version and the attributes that the words do not set."""
    words: list[str] = []
    if command in _WITHOUT_VERSION and _COMPARED.isdisjoint(parsed.names):
        words += ["--ops", node.family.COMMAND]  # other operators on request
    version = node.version
    if version is not None and command not in _WITHOUT_VERSION and "--version" not in parsed.names:
        words += ["--version", version]
    for name, value in node.call_attributes.items():
        if option_name(name) not in parsed.names:
            if command != _COMMAND_OF_SHAPES:
                check_attribute(node, name, value)
            words.append(f"{option_name(name)}={value}")
    return words


def check_attribute(node: ModelNode, name: str, value: object) -> None:
    """Raise if an attribute of a node comes at run time."""
    if value == "unknown":
        what = f"`{name}` of the node `{clean(node.name)}` comes at run time"
        raise UsageError(what, value=node.name, expected=f"`{option_name(name)}`")


def read_node(path: str, name: str | None, options: ReadOptions) -> ModelNode:
    """Read a model and return its node, as `Model.node` does."""
    model = read(path, options)
    model.close()
    return model.node(name)


def constant_token(path: str, node: ModelNode, name: str) -> str:
    """Return the tensor argument that is a constant input of a node."""
    return f"@{path}#{node.name}:{name}"


def dtype_of(value: Value) -> str | None:
    """Return the type of an input for `--data-dtype`; None if it is unknown or has no name."""
    known = value.dtype is not None and named(value.dtype.name)
    return known.name if known else None


# Jobs

NODE_KEY: Final = "node"  # the key of a job with its node: `model.onnx#/emb/Gather`
_MOST_MODELS: Final = 16  # the most models in the cache; each is read once for all of its jobs

_WILDCARD: Final = re.compile(r"[*?]")


def _keys_of(
    path: str, node: ModelNode, fed: Collection[str], others: Collection[str]
) -> dict[str, Any]:
    """Return the keys that a node decides, but for `others`; the inputs `fed` have a type only."""
    keys: dict[str, Any] = {"op": node.family.COMMAND, "version": node.version}
    for name, value in node.named_inputs.items():
        if name in fed:
            keys[f"{name}_dtype"] = dtype_of(value)
        else:
            keys[name] = constant_token(path, node, name)
    keys |= node.call_attributes
    return {key: each for key, each in keys.items() if each is not None and key not in others}


class NodeJobs:
    """The jobs of nodes, with a cache of their models; `limit` is the memory of each in bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._models: dict[tuple[str, str], Model] = {}

    def expand(self, entry: JobEntry) -> JobEntry:
        """Add the keys that the node of a job decides; return any other job as it is.

        The keys of the job itself take precedence. Raise InputError, ``job``, if the model cannot
        be read or has no such node, or the job lacks an input that comes at run time.
        """
        try:
            job = jsontext.parse(entry.text)
        except GatherError:  # which the reader of the job reports
            return entry
        if not isinstance(job, dict) or not isinstance(job.get(NODE_KEY), str):
            return entry
        match = MODEL_NODE.fullmatch(job[NODE_KEY])
        if match is None:
            raise _error(entry, f"`$.{NODE_KEY}` is `{clean(job[NODE_KEY])}`", "`model.onnx#NODE`")
        path = match["path"]
        try:
            node = self._read(path, entry.folder).node(match["name"])
        except GatherError as error:
            raise InputError.of(
                error,
                rule="job",
                places=(entry.where, f"`$.{NODE_KEY}`", *error.places),
                where=entry.where,
                value=None,
            ) from None
        _check(node, job, entry)
        keys = _keys_of(path, node, job, job)
        # The text of the job stays, so that its numbers and long lists do.
        start = json.dumps(keys).removesuffix("}").encode()
        return entry._replace(text=start + b", " + entry.text.lstrip().removeprefix(b"{"))

    def _read(self, path: str, folder: str) -> Model:
        """Read a model, unless it is in the cache."""
        key = folder, path
        if key not in self._models:
            if len(self._models) >= _MOST_MODELS:
                self._models.clear()
            self._models[key] = read(path, ReadOptions(folder=folder, limit=self._limit))
            self._models[key].close()
        return self._models[key]


def _check(node: ModelNode, job: Mapping[str, Any], entry: JobEntry) -> None:
    """Raise if a job has another operator than its node, or lacks what comes at run time."""
    op, where = node.family.COMMAND, f"the node `{clean(node.name)}`"
    if job.get("op", op) != op:
        raise _error(entry, f"`$.op` is {value_text(job['op'])}, but {where} is {op}", op)
    at_run_time = dict.fromkeys(node.run_time_inputs, "a tensor") | {
        name: "an integer" for name, value in node.call_attributes.items() if value == "unknown"
    }
    for name, expected in at_run_time.items():
        if name not in job:
            what = f"`$.{name}` is missing, which {where} gets at run time"
            raise _error(entry, what, expected)


def _error(entry: JobEntry, what: str, expected: str) -> InputError:
    return InputError(what, rule="job", places=(entry.where,), where=entry.where, expected=expected)


def fed_call(word: str, feeds: Sequence[str], limit: int | None) -> PatternCall:
    """Read the node that ``MODEL#NODE`` names, with the values of `--feed`.

    `limit` is the most bytes of memory of the model. The jobs are of the fed input with a pattern,
    or of the first one; without any, of a constant. Raise UsageError if an input that comes at run
    time is not fed, or a feed has no input; the keys do if an attribute comes at run time, and is
    not given.
    """
    from gathercli.batch.patterns import FEED_OPTION, FilePattern, PatternCall

    match = MODEL_NODE.fullmatch(word)
    path, name = match.group("path", "name") if match else (word, None)
    node = read_node(path, name, ReadOptions(limit=limit))
    fed = feeds_of(node, feeds)
    check_fed(node, fed)
    patterns = [name for name, text in fed.items() if _WILDCARD.search(text)]
    chosen = next(iter([*patterns, *fed, *node.named_inputs]))
    text = fed[chosen] if chosen in fed else constant_token(path, node, chosen)

    def keys(given: Collection[str]) -> dict[str, Any]:
        for name, value in node.call_attributes.items():
            if name not in given:
                check_attribute(node, name, value)
        return _keys_of(path, node, fed, {*given, "op", chosen})

    return PatternCall(node.family.COMMAND, FilePattern(chosen, FEED_OPTION, text), fed, keys)
