"""Jobs that name a node of a model, as ordinary jobs with its constants, version and attributes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gathercli.errors import GatherError, InputError
from gathercli.io.formats import jsontext
from gathercli.text import clean, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gathercli.io.jobs.jobfile import JobEntry
    from gathercli.models.graph import Model, ModelNode

NODE: Final = "node"
"""The key of a job with its node: ``model.onnx#/emb/Gather``."""

_MOST_MODELS: Final = 16
"""The most models in the cache; each is read once for all of its jobs."""


class NodeJobs:
    """The jobs of nodes, with a cache of their models.

    Parameters
    ----------
    limit
        The most bytes of memory that a model may take; None for no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._models: dict[tuple[str, str], Model] = {}

    def expand(self, entry: JobEntry) -> JobEntry:
        """Add the keys that the node of a job decides; return any other job as it is.

        The keys of the job itself take precedence.

        Raises
        ------
        InputError
            ``job``: the model cannot be read or has no such node, or the job lacks an input that
            comes at run time.
        """
        try:
            job = jsontext.parse(entry.text)
        except GatherError:  # which the reader of the job reports
            return entry
        if not isinstance(job, dict) or not isinstance(job.get(NODE), str):
            return entry
        from gathercli.models.call import MODEL_NODE, node_of

        match = MODEL_NODE.fullmatch(job[NODE])
        if match is None:
            raise _error(entry, f"`$.{NODE}` is `{clean(job[NODE])}`", "`model.onnx#NODE`")
        path = match["path"]
        try:
            node = node_of(self._read(path, entry.folder), match["name"])
        except GatherError as error:
            raise InputError.of(
                error,
                rule="job",
                places=(entry.where, f"`$.{NODE}`", *error.places),
                where=entry.where,
                value=None,
            ) from None
        keys = _keys_of(path, node, job, entry)
        # The text of the job stays, so that its numbers and long lists do.
        start = json.dumps(keys).removesuffix("}").encode()
        return entry._replace(text=start + b", " + entry.text.lstrip().removeprefix(b"{"))

    def _read(self, path: str, folder: str) -> Model:
        """Read a model, unless it is in the cache."""
        from gathercli.models import ReadOptions, read

        key = folder, path
        if key not in self._models:
            if len(self._models) >= _MOST_MODELS:
                self._models.clear()
            self._models[key] = read(path, ReadOptions(folder=folder, limit=self._limit))
            self._models[key].close()
        return self._models[key]


def _keys_of(path: str, node: ModelNode, job: Mapping[str, Any], entry: JobEntry) -> dict[str, Any]:
    """Return the keys that a job lacks and its node decides."""
    from gathercli.models.call import attributes_of, constant_token, dtype_of, version_of

    op, where = node.family.COMMAND, f"the node `{clean(node.name)}`"
    if job.get("op", op) != op:
        raise _error(entry, f"`$.op` is {value_text(job['op'])}, but {where} is {op}", op)
    keys: dict[str, Any] = {"op": op, "version": version_of(node)}
    for name, value in node.named_inputs.items():
        if name not in job and value.constant is not None:
            keys[name] = constant_token(path, node, name)
        elif name in job:
            keys[f"{name}_dtype"] = dtype_of(value)
        else:
            what = f"`$.{name}` is missing, which {where} gets at run time"
            raise _error(entry, what, "a tensor")
    for name, value in attributes_of(node).items():
        if value == "unknown" and name not in job:
            what = f"`$.{name}` is missing, which {where} gets at run time"
            raise _error(entry, what, "an integer")
        keys[name] = value
    return {key: each for key, each in keys.items() if each is not None and key not in job}


def _error(entry: JobEntry, what: str, expected: str) -> InputError:
    return InputError(what, rule="job", places=(entry.where,), where=entry.where, expected=expected)
