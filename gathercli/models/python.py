"""`gathercli.nodes`, `node` and `check_model`: the Gather nodes of models, as objects that run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gathercli.cli.messages import Messages
from gathercli.cli.options import MemoryOptions
from gathercli.errors import UsageError
from gathercli.io.arraylike import as_numpy, as_tensor, joined, typed
from gathercli.io.formats.content import ElementTypes
from gathercli.io.formats.values import tensor_of
from gathercli.models import check_command
from gathercli.models.command import (
    NODE_STYLES,
    ModelOptions,
    judged,
    model_json,
    model_text,
    node_json,
    nodes_text,
)
from gathercli.models.files import no_model
from gathercli.models.node_call import check_attribute, check_fed, constant_token, feed_names
from gathercli.python import worded
from gathercli.report.terminal import Report, Styled, highlighted
from gathercli.spec.dtypes import described
from gathercli.spec.shapes import meet
from gathercli.text import clean, closest, listed

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import ArrayLike

    from gathercli.io.graphs.graph import Value
    from gathercli.models.graph import Model, ModelNode
    from gathercli.models.verdict import NodeVerdict
    from gathercli.report.verdicts import CheckReport

    Path = str | os.PathLike[str]
    Feeds = Mapping[str, ArrayLike] | ArrayLike | None  # by name, or the only one


@dataclass(frozen=True)
class NodeValue:
    """An input or an output of a node: its name in the model, and what the model says of it."""

    value: str
    dtype: str | None
    shape: list[int | str] | str
    constant: bool = False
    inferred: list[int | str] | str | None = None  # the shape of an output that follows


@dataclass(frozen=True, repr=False, eq=False)
class GatherNode(Report):
    """A Gather node of a model. It runs, is explained and checked as a call of its version.

    `feeds` are what it gets at run time, by the name of the input of the operator or of the model;
    an array alone is the only one.
    """

    name: str
    own_name: str  # as the model names it
    path: tuple[str, ...]  # nodes and bodies around it
    operator: str  # ``GatherND``
    opset: int
    version: str | None  # None if the opset has no such operator
    attributes: dict[str, Any]
    inputs: dict[str, NodeValue]
    outputs: tuple[NodeValue, ...]
    verdict: str  # proven, at run time, refused, fills, not read
    checked: tuple[str, ...]
    adjustments: tuple[str, ...]
    unread: dict[str, str]
    error: dict[str, Any] | None
    contradictions: tuple[dict[str, str], ...]
    _verdict: NodeVerdict
    _file: str

    @classmethod
    def of(cls, verdict: NodeVerdict, path: str) -> GatherNode:
        """Return the node of a verdict, in a model."""
        fields = node_json(verdict)
        for name in ("path", "checked", "adjustments", "contradictions"):
            fields[name] = tuple(fields[name])
        fields["inputs"] = {name: NodeValue(**each) for name, each in fields["inputs"].items()}
        fields["outputs"] = tuple(NodeValue(**each) for each in fields["outputs"])
        return cls(**fields, _verdict=verdict, _file=path)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_file": os.path.abspath(self._file)}

    def __getattr__(self, name: str) -> Any:
        """Read the model again after pickle, which keeps its name alone."""
        if name != "_verdict" or "_file" not in vars(self):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, node(self._file, self.name)._verdict)  # noqa: SLF001

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``gathercli model -f json``."""
        return node_json(self._verdict)

    def styled(self, width: int | None) -> Styled:
        """Write the row of the node, and why it is refused."""
        return highlighted("\n".join(nodes_text([self._verdict], width)), NODE_STYLES)

    def run(self, feeds: Feeds = None, **settings: Any) -> npt.NDArray[Any]:
        """Return the output; `settings` are those of `gathercli.gather`: another `version`, ….

        Raises
        ------
        UsageError
            An input that comes at run time is not fed, a name is none of an input, or what is fed
            has another type or shape than the model says.
        OperatorError
            The version refuses.
        """
        command, inputs, settings = self._call(feeds, settings)
        output: npt.NDArray[Any] = _function(command)(*inputs, **settings)
        return output

    def check(self, feeds: Feeds = None, **settings: Any) -> CheckReport:
        """Check the indices, as `gathercli.check`."""
        command, inputs, settings = self._call(feeds, settings)
        report: CheckReport = _function("check")(command, *inputs, **settings)
        return report

    def explain(self, feeds: Feeds = None, **settings: Any) -> Any:
        """Explain where every cell comes from, as `gathercli.explain`."""
        command, inputs, settings = self._call(feeds, settings)
        return _function("explain")(command, *inputs, **settings)

    def _call(
        self, feeds: Feeds, settings: dict[str, Any]
    ) -> tuple[str, list[Any], dict[str, Any]]:
        """Return the operator, its inputs, and its version and attributes but for `settings`."""
        node = self._verdict.node
        if node.op is None and node.error is not None:
            raise node.error
        fed = self._fed(feeds)
        with worded():
            for name, value in node.call_attributes.items():
                if name not in settings:
                    check_attribute(node, name, value)
            try:
                check_fed(node, dict.fromkeys(fed, ""))
            except UsageError as error:
                error.expected, error.advice = "feeds", _zeros(node, fed)
                raise
        inputs = [
            _array(name, fed[name], value)
            if name in fed
            else _function("load")(constant_token(self._file, node, name))
            for name, value in node.named_inputs.items()
        ]
        own = {"version": node.version, **node.call_attributes}
        return node.family.COMMAND, inputs, own | settings

    def _fed(self, feeds: Feeds) -> dict[str, ArrayLike]:
        """Return what is fed by the names of the inputs."""
        node = self._verdict.node
        if feeds is None:
            return {}
        if not isinstance(feeds, Mapping):
            return dict.fromkeys([*node.run_time_inputs, *node.named_inputs][:1], feeds)
        names: dict[str, list[str]] = {}
        for name, value in node.named_inputs.items():
            for each in feed_names(name, value):
                names.setdefault(each, []).append(name)
        for each in feeds:
            if each not in names:
                near = closest(each, names)
                what = f"the node has no input `{clean(each)}`"
                expected = listed(f"`{clean(name)}`" for name in names)
                hint = f'did you mean `"{near}"`?' if near else None
                raise UsageError(what, value=each, expected=expected, hint=hint)
        fed = [(name, feed) for each, feed in feeds.items() for name in names[each]]
        if len(fed) > len({name for name, _ in fed}):
            what = f"{listed((f'`{clean(each)}`' for each in feeds), 'and')} feed one input twice"
            raise UsageError(what, value=[*feeds][-1], expected="a feed for each")
        return dict(fed)


def _zeros(node: ModelNode, fed: Collection[str]) -> str | None:
    """Return a hint that feeds zeros, of size 2 where the model does not say."""
    words = []
    for name, value in node.run_time_inputs.items():
        if value.dtype is None or value.shape.rank is None:
            return None
        if name not in fed:
            sizes = tuple(size if isinstance(size, int) else 2 for size in value.shape)
            words.append(f'"{name}": numpy.zeros({sizes}, "{value.dtype.name}")')
    return f"`{{{', '.join(words)}}}` feeds zeros"


def _array(name: str, feed: ArrayLike, value: Value) -> npt.NDArray[Any]:
    """Return what is fed as an array, of the type and shape that the model says."""
    if value.dtype is not None and isinstance(feed, list | tuple | int | float):
        tensor = tensor_of(feed, ElementTypes(value.dtype))  # a list has the type of the input
    else:
        tensor = as_tensor(feed)
    shape = tensor.shape if value.shape.rank is None or value.claim is not None else value.shape
    met = [*map(meet, shape, tensor.shape)] if len(shape) == len(tensor.shape) else [None]
    if None in met or value.dtype not in (None, tensor.dtype):
        expected = f"{described(value.dtype, value.shape.inner())}, as the model says"
        raise UsageError(f"is {tensor}", subject=name, value=str(tensor), expected=expected)
    return as_numpy(tensor)


def _function(command: str) -> Any:
    """Return the public function of a command, which another slice may give."""
    import gathercli

    return getattr(gathercli, command.replace("-", "_"))


@dataclass(frozen=True, repr=False, eq=False)
class ModelNodes(Report):
    """The Gather nodes of a model, in its order."""

    file: str
    format: str  # onnx, openvino
    version: int  # of the format
    producer: str
    opsets: dict[str, int]
    total: int  # nodes of any operator
    nodes: tuple[GatherNode, ...]
    _model: Model

    def __getitem__(self, at: int | str) -> GatherNode:
        """Return a node by its place, or by its name or that of its output."""
        if isinstance(at, int):
            return self.nodes[at]
        named = (each for each in self.nodes if at in (each.name, *(o.value for o in each.outputs)))
        return next(named, None) or node(self.file, at)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[GatherNode]:
        return iter(self.nodes)

    def styled(self, width: int | None) -> Styled:
        """Write the table of the nodes."""
        return model_text(self._model, [each._verdict for each in self.nodes], width)  # noqa: SLF001


@typed
def nodes(model: Path, *, external_data: bool = False, infer: bool = True) -> ModelNodes:
    """List the Gather nodes of an ONNX model or an OpenVINO IR, and what each refuses.

    Parameters
    ----------
    model
        The .onnx, or the .xml with its .bin beside.
    external_data
        Whether tensors are read that an ONNX model keeps in files beside it.
    infer
        Whether the onnx package infers shapes that are not known, if it is installed.

    Raises
    ------
    InputError, NoInputError, LimitError

    Examples
    --------
    >>> [(each.name, each.verdict) for each in nodes("fixtures/tour/encoder.onnx")][:2]
    [('/words/Gather', 'at run time'), ('/positions/Gather', 'refused')]
    """
    path, memory = os.fspath(model), MemoryOptions(max_bytes="0")
    read, verdicts = judged(path, _reading(external_data, infer), memory)
    fields = model_json(read, ()) | {"nodes": tuple(GatherNode.of(each, path) for each in verdicts)}
    return ModelNodes(**fields, _model=read)


@typed
def node(model: Path, name: str | None = None, *, external_data: bool = False) -> GatherNode:
    """Return a Gather node of a model, by its name or that of its output; None for the only one.

    Raises
    ------
    InputError
        No node has the name, or several have.
    VersionError
        The opset has no such operator.

    Examples
    --------
    >>> embeddings = node("fixtures/tour/encoder.onnx", "/words/Gather")
    >>> embeddings.run([[5, 0]]).shape
    (1, 2, 4)
    """
    found = nodes(model, external_data=external_data)
    return found[found._model.node(name).name]  # noqa: SLF001


def _reading(external_data: bool, infer: bool) -> ModelOptions:
    options = ModelOptions(external_data=external_data, no_infer=not infer)
    options.guarded = False  # the signals of a program are its own
    return options


@typed
def check_model(
    *models: Path,
    to: str | Collection[str] | None = None,
    allow_fill: bool = False,
    allow_unread: bool = False,
    require_proven: bool = False,
    external_data: bool = False,
    infer: bool = True,
    threads: int | None = None,
) -> check_command.ModelCheck:
    """Check the Gather nodes of models, and what changes on the way to targets.

    Parameters
    ----------
    models
        Files, or folders with models.
    to
        Targets, in a list or with commas between: ``openvino``, ``tflite``, ``onnx-17``, …
    allow_fill, allow_unread
        Whether fills with zeros, and constants that cannot be read, are notes.
    require_proven
        Whether a node whose indices may be outside is an error.
    external_data, infer
        As for `nodes`.
    threads
        How many models are checked at a time.

    Raises
    ------
    NoInputError
        There is no model.
    InputError, LimitError
        The only model cannot be read; of several that is the `error` of its verdict.
    UsageError
        There is no such target.

    Examples
    --------
    >>> report = check_model("fixtures/tour/encoder.onnx", to="openvino")
    >>> [(each.node, each.rule) for each in report.models[0].findings if each.level == "error"]
    [('/positions/Gather', 'index-range')]
    """
    options = check_command.ModelCheckOptions(to=joined(to), require_proven=require_proven)
    options.allow_fill, options.allow_unread = allow_fill, allow_unread
    words, messages = [os.fspath(each) for each in models], Messages(quiet=True)
    with worded():
        targets = options.targets()
        paths = check_command.paths_of(words, messages.notes)
        if not paths:
            raise no_model(words)
        check = partial(
            check_command.check_file,
            reading=_reading(external_data, infer),
            memory=MemoryOptions(max_bytes="0"),
            options=options,
            targets=targets,
        )
        checked = tuple(check_command.all_checked(check, paths, threads, messages))
        if len(checked) == 1 and checked[0].error is not None:
            raise checked[0].error
    return check_command.ModelCheck.of(checked, [each.name for each in targets])
