"""The jobs of a node of a model: ``batch model.onnx#/emb/Gather --feed 'ids/*.npy'``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gathercli.batch.patterns import FEED, FilePattern
from gathercli.models import ReadOptions
from gathercli.models.call import (
    MODEL_NODE,
    attributes_of,
    constant_token,
    dtype_of,
    read_node,
    version_of,
)
from gathercli.models.node_call import check_attribute, check_fed, feeds_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gathercli.models.graph import ModelNode

_WILD: Final = re.compile(r"[*?]")


class FedNode(NamedTuple):
    """A node of a model and what it is fed.

    Attributes
    ----------
    path, node
        The model and the node.
    feeds
        Tokens and patterns by the names of inputs; all that come at run time are fed.
    """

    path: str
    node: ModelNode
    feeds: dict[str, str]

    @classmethod
    def read(cls, word: str, feeds: Sequence[str], limit: int | None) -> FedNode:
        """Read the node that ``MODEL#NODE`` names, with the values of `--feed`.

        Parameters
        ----------
        limit
            The most bytes of memory that the model may take; None for no limit.

        Raises
        ------
        UsageError
            An input that comes at run time is not fed, or a feed has no input.
        GatherError
            The model cannot be read, or has no such node.
        """
        match = MODEL_NODE.fullmatch(word)
        path, name = match.group("path", "name") if match else (word, None)
        node = read_node(path, name, ReadOptions(limit=limit))
        fed = feeds_of(node, feeds)
        check_fed(node, fed)
        return cls(path, node, fed)

    @property
    def op(self) -> str:
        """The operator."""
        return self.node.family.COMMAND

    @property
    def files(self) -> FilePattern:
        """The fed input with a pattern, or the first one; without any, a constant."""
        patterns = [name for name, text in self.feeds.items() if _WILD.search(text)]
        name = next(iter([*patterns, *self.feeds]), None)
        if name is not None:
            return FilePattern(name, FEED, self.feeds[name])
        constant = next(iter(self.node.named_inputs))
        return FilePattern(constant, FEED, constant_token(self.path, self.node, constant))

    def keys(self, given: Collection[str]) -> dict[str, Any]:
        """Return the keys of each job, without those `given` by options.

        Raises
        ------
        UsageError
            An attribute comes at run time, and is not given.
        """
        keys: dict[str, Any] = {"version": version_of(self.node)}
        for name, value in self.node.named_inputs.items():
            if name in self.feeds:
                keys[f"{name}_dtype"] = dtype_of(value)
            elif name != self.files.name:
                keys[name] = constant_token(self.path, self.node, name)
        for name, value in attributes_of(self.node).items():
            if name not in given:
                check_attribute(self.node, name, value)
                keys[name] = value
        return {key: each for key, each in keys.items() if each is not None and key not in given}
