"""The layers of an OpenVINO IR and of its bodies.

The .xml is read by expat, as a stream; a DOCTYPE, which may define entities, is refused. Layers
have ids that are unique in their body only. A port without dimensions is 0-D or of unknown rank:
the layer behind it decides.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from gathercli.errors import GatherError, LimitError
from gathercli.io.formats.content import malformed, truncated
from gathercli.io.graph import MAX_DEPTH, check_held
from gathercli.io.ir.layers import PORT_MAPS, Body, Layer, Port, integer
from gathercli.text import clean, in_bytes, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.io.files import File
    from gathercli.io.graph import Budget


MAX_XML: Final = 1 << 28
"""The largest .xml in bytes."""

MOST_ELEMENTS: Final = 20_000_000
"""The most elements of an .xml."""

DEEPEST_ELEMENT: Final = 5 * MAX_DEPTH
"""The deepest nesting of elements; a body takes four levels."""

_LAYER, _PORT, _TEXT, _NAME = 600, 140, 60, 180
"""Bytes of memory, as were measured: of a layer, of a port or an edge, of a text, of a name."""

_TAG: Final = 32
"""Bytes of memory that a byte of a tag takes at most, if it has short attributes."""

_CUT: Final = [
    expat.errors.codes[each]
    for each in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
]
"""The errors that expat finds at the end of a file alone."""

_VERSIONS: Final = (10, 11)
_PART: Final = 1 << 16


class IrReader:
    """A reader of one .xml; `read` may be called once.

    Attributes
    ----------
    version
        The version of the IR.
    bodies
        The layers of the model, then those of each body in it.
    """

    def __init__(self, file: File, budget: Budget) -> None:
        self._file, self._budget = file, budget
        self._stack: list[str] = []
        self.version = 0
        self.bodies: list[Body] = []
        self._open: list[Body] = []
        self._handlers: dict[tuple[str, str], tuple[int, Callable[[dict[str, str]], None]]] = {
            ("input", "port"): (_PORT, self._start_input),
            ("output", "port"): (_PORT, self._start_output),
            ("port", "dim"): (_TEXT, self._start_dim),
            ("layer", "data"): (_PORT, self._start_data),
            ("layers", "layer"): (_LAYER, self._add_layer),
            ("edges", "edge"): (_PORT, self._add_edge),
            ("back_edges", "edge"): (_PORT, self._add_back_edge),
            **{("layer", name): (_LAYER, partial(self._start_body, name)) for name in PORT_MAPS},
            **{
                (name, "input"): (_PORT, partial(self._map_port, name))
                for name in PORT_MAPS.values()
            },
        }
        self._names: dict[str, str] = {}
        """The names of elements and attributes, which expat adds."""
        self._counted = 0
        self._text: list[str] | None = None
        self._port: Port | None = None
        self._number = 0

    def read(self) -> None:
        """Parse the .xml.

        Raises
        ------
        InputError, LimitError
            The file is no sound IR.
        """
        parser = expat.ParserCreate(intern=self._names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._character_data
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        size = self._file.length(MAX_XML)
        if size > MAX_XML:
            raise LimitError(
                f"the .xml has {in_bytes(size)}",
                rule="limit",
                value=size,
                expected=f"at most {MAX_XML}",
            )
        try:
            raw = self._file.buffer()
            for start in range(0, size, _PART):
                part = raw[start : start + _PART]
                parser.Parse(part, False)
                pending = start + len(part) - parser.CurrentByteIndex  # of a tag without its end
                check_held(pending * _TAG, self._file.limit)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            if error.code in _CUT:
                raise truncated(size, "an OpenVINO IR", inside="an element") from None
            raise malformed(
                f"it is not XML: {expat.ErrorString(error.code)} in line {error.lineno}",
                "an OpenVINO IR",
            ) from None
        except GatherError:  # of a handler
            raise
        except (LookupError, ValueError) as error:  # the encoding that the .xml declares
            raise malformed(f"it is not XML: {error}", "an OpenVINO IR in UTF-8") from None

    # The handlers of expat. The element around it decides what an element is, so that those of
    # `rt_info`, which may have any names, are passed over.

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._number += 1
        stack = self._stack
        if self._number > MOST_ELEMENTS or len(stack) >= DEEPEST_ELEMENT:
            raise LimitError(
                "the .xml has too many or too deep elements",
                rule="limit",
                expected=f"at most {MOST_ELEMENTS}, {DEEPEST_ELEMENT} deep",
            )
        if len(self._names) > self._counted:
            self._budget.hold(_NAME * (len(self._names) - self._counted))
            self._counted = len(self._names)
        if stack:
            nbytes, handler = self._handlers.get((stack[-1], name), (0, None))
            if handler is not None:
                self._budget.hold(nbytes + sum(_TEXT + len(each) for each in attributes.values()))
                handler(attributes)
        else:
            self._open_net(name, attributes)
        stack.append(name)

    def _start_input(self, attributes: dict[str, str]) -> None:
        self._port = Port(attributes)
        if self._layer is not None:
            self._layer.inputs.append(self._port)

    def _start_output(self, attributes: dict[str, str]) -> None:
        self._port = Port(attributes)
        if self._layer is not None:
            self._layer.outputs[self._port.id] = self._port

    def _start_dim(self, _: dict[str, str]) -> None:
        self._text = []

    def _start_data(self, attributes: dict[str, str]) -> None:
        if self._layer is not None:
            self._layer.data = attributes

    def _start_body(self, name: str, _: dict[str, str]) -> None:
        if self._layer is not None:
            outer, owner = self._open[-1], self._layer
            path = (*outer.path, owner.name or owner.type, name)
            self._open_body(Body(path, len(self._stack), outer, owner))

    def _map_port(self, name: str, attributes: dict[str, str]) -> None:
        if self._layer is not None and "axis" not in attributes:
            maps = self._layer.maps = self._layer.maps or {}
            ports = maps.setdefault(name, {})
            ports[attributes.get("internal_layer_id", "")] = attributes.get("external_port_id", "")

    def _add_back_edge(self, attributes: dict[str, str]) -> None:
        if self._layer is not None:
            changing = self._layer.changing = self._layer.changing or set()
            changing.add(attributes.get("to-layer", ""))

    def _open_body(self, body: Body) -> None:
        self._open.append(body)
        self.bodies.append(body)

    @property
    def _layer(self) -> Layer | None:
        return self._open[-1].last

    def _end(self, name: str) -> None:
        stack = self._stack
        stack.pop()
        if name == "dim" and self._text is not None:
            if self._port is not None:
                self._port.dims.append("".join(self._text))
            self._text = None
        elif name == "port":
            self._port = None
        elif name == "layer" and stack and stack[-1] == "layers":
            self._open[-1].last = None
        elif stack and len(stack) == self._open[-1].depth:
            self._open.pop()

    def _character_data(self, text: str) -> None:
        if self._text is not None:
            self._budget.hold(len(text))
            self._text.append(text)

    def _open_net(self, name: str, attributes: dict[str, str]) -> None:
        if name != "net":
            raise malformed(f"the root of the .xml is <{clean(short(name))}>", "<net> of an IR")
        version = integer(attributes.get("version", "0"), "the version of the IR")
        if version not in _VERSIONS:
            raise malformed(f"the IR has version {version}", "10 or 11")
        self.version = version
        self._open_body(Body())

    def _add_layer(self, attributes: dict[str, str]) -> None:
        body, layer = self._open[-1], Layer(attributes)
        if layer.id in body.layers:
            raise malformed(f"two layers have the id `{clean(short(layer.id))}`", "every id once")
        self._budget.count_node()
        body.layers[layer.id] = body.last = layer

    def _add_edge(self, attributes: dict[str, str]) -> None:
        layers = self._open[-1].layers
        to, source = attributes.get("to-layer", ""), attributes.get("from-layer", "")
        for each in (to, source):
            if each not in layers:
                raise malformed(
                    f"an edge names the layer `{clean(short(each))}`", "a layer of its body"
                )
        sources, port = layers[to].sources, attributes.get("to-port", "")
        if port in sources:
            what = f"two edges lead to the port `{clean(short(port))}` of `{clean(short(to))}`"
            raise malformed(what, "one edge to a port")
        sources[port] = source, attributes.get("from-port", "")


def _refuse_doctype(*_: object) -> None:
    raise malformed("the .xml has a DOCTYPE", "an IR, which has none")
