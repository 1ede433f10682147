"""The tensors of a model, as those of any file: ``model.onnx#name``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.compute.storage import storage_of
from gathercli.io.formats.content import Layout, key_hint, malformed
from gathercli.models import ReadOptions, read_file
from gathercli.text import clean, short, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gathercli.compute.tensor import Tensor
    from gathercli.io.files import File
    from gathercli.io.graph import Constant
    from gathercli.spec.dtypes import DType


class ModelContent:
    """A model; `format` and the members are those of `content.Content`.

    A key is the name of a tensor, or ``NODE:INPUT`` for a constant input of a node.
    """

    def __init__(self, file: File) -> None:
        """Read the model."""
        self._model = read_file(file, ReadOptions(external=file.external, limit=file.limit))
        self._file, self._name = file, file.name
        self.format = self._model.format
        self.names: Sequence[str] = list(self._model.tensors)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes of the family."""
        return [each.name for each in self._model.nodes]

    def layout(self, key: str | None, declared: DType | None) -> Layout:
        """Describe a tensor."""
        del declared  # the model has the type
        constant = self._constant(key)
        return Layout(constant.dtype, constant.shape, storage_of(constant.dtype))

    def tensor(self, key: str | None, declared: DType | None, empty: DType) -> Tensor:
        """Read a tensor: a view of the file, unless its elements are packed or converted."""
        del declared, empty
        constant = self._constant(key)
        constant.check_memory(self._file)
        return constant.tensor()

    def _constant(self, key: str | None) -> Constant:
        tensors = self._model.tensors
        if key is None and len(tensors) == 1:
            return next(iter(tensors.values()))
        if key is not None:
            constant = tensors.get(key) or self._input(key)
            if constant is not None:
                return constant
        if key in self.nodes:
            raise malformed(
                f"`{clean(short(key or ''))}` is a node",
                "a tensor",
                "a node alone is a call of the command line, and `--feed` gives its inputs; "
                "no function of Python takes one",
            )
        raise malformed(
            f"the model stores {some(f'`{clean(name)}`' for name in self.names)}"
            if self.names
            else "the model stores no tensor",
            f"the tensor `{clean(short(key))}`" if key else "the name of one",
            key_hint(self._name, key, self.names, "tensor"),
        )

    def _input(self, key: str) -> Constant | None:
        """Return the constant input of a node; None if the key names none."""
        name, _, role = key.rpartition(":")
        for each in self._model.nodes:
            if each.name == name:
                value = each.named_inputs.get(role)
                return value.constant if value else None
        return None
