"""Nodes of models as jobs of `batch`, with their constants, versions and attributes.

A job may name its node, ``{"node": "model.onnx#/emb/Gather"}``, or a line names one for all of its
jobs: ``batch model.onnx#/emb/Gather --feed 'ids/*.npy'``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from gathercli.batch.patterns import FEED_OPTION, FilePattern, PatternCall
from gathercli.errors import GatherError, InputError
from gathercli.io.formats import jsontext
from gathercli.models.files import ReadOptions, read
from gathercli.models.node_call import (
    MODEL_NODE,
    check_attribute,
    check_fed,
    constant_token,
    dtype_of,
    feeds_of,
    read_node,
)
from gathercli.text import clean, value_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gathercli.io.jobfile import JobEntry
    from gathercli.models.graph import Model, ModelNode

NODE_KEY: Final = "node"
"""The key of a job with its node: ``model.onnx#/emb/Gather``."""

_MOST_MODELS: Final = 16
"""The most models in the cache; each is read once for all of its jobs."""

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
