"""The expressions of frameworks for the primitives of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gathercli.translate.program import Step


def _colons(count: int) -> str:
    return ":, " * count


def _product(x: str, start: int, stop: int) -> str:
    """Write a product of sizes."""
    return " * ".join(f"{x}.shape[{at}]" for at in range(start, stop)) or "1"


def _order_after_index(rank: int, axis: int, b: int, m: int) -> list[int] | None:
    """Return the order that brings the dimensions of indices back behind those before the axis.

    An index of several arrays with slices between them puts the m dimensions of the arrays first.
    """
    if axis == b:
        return None
    between = list(range(m, m + axis - b))
    total = m + rank - b - 1
    return [*range(b), *between, *range(b, m), *range(m + axis - b, total)]


class _NumPy:
    """NumPy, and what other frameworks write differently."""

    imports: tuple[str, ...] = ("import numpy as np",)
    wide: tuple[str, ...] = ()
    """Lines that a program with values of 64 bits needs."""

    np = "np"
    beam_functions: ClassVar[Mapping[str, str]] = {
        "shape": "{}.shape",
        "long": "{}.astype(np.int64)",
        "own": "np.broadcast_to(np.arange(width), (batch, width))",
        "where": "np.where",
        "pick": "np.take_along_axis({}, {}, axis=1)",
        "stack": "np.stack",
        "count": "np.cumsum({}, axis=0)",
    }
    has_numbers = True
    """Whether a size is a number of Python."""

    def write(self, step: Step, inputs: list[str]) -> tuple[list[str], str]:
        """Return lines that come before, and the expression of a step."""
        method = getattr(self, step.primitive)
        result = method(step, *inputs)
        return result if isinstance(result, tuple) else ([], result)

    def check(self, k: str, condition: str, message: str) -> list[str]:
        """Return the lines that raise an error if a condition holds anywhere."""
        del k
        return [f"if {self.any(condition)}:", f"    raise IndexError({message})"]

    def any(self, condition: str) -> str:
        """Write whether a condition holds anywhere."""
        return f"({condition}).any()"

    # Sizes

    def size(self, step: Step, x: str) -> str:
        return f"{x}.shape[{step.settings['axis']}]"

    def sizes(self, step: Step, x: str) -> str:
        return self.vector(f"{x}.shape[{step.settings['start']}:{step.settings['stop']}]", x)

    def strides(self, step: Step, x: str) -> str:
        start, stop = step.settings["start"], step.settings["stop"]
        products = ", ".join(_product(x, at + 1, stop) for at in range(start, stop))
        return self.vector(f"[{products}]", x)

    def vector(self, sizes: str, x: str) -> str:
        """Write a tensor of sizes."""
        del x
        return f"{self.np}.array({sizes})"

    def like(self, x: str, rank: int, before: int, after: int, middle: str) -> str:
        """Write a shape: that of x, but for the dimensions from `before` up to `after`."""
        first = [f"*{x}.shape[:{before}]"] if before else []
        last = [f"*{x}.shape[{after}:]"] if after < rank else []
        parts = [*first, middle, *last]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def zeros(self, step: Step, x: str) -> str:
        return f"{self.np}.zeros({self.like_slice(step, x)}, {x}.dtype)"

    def like_slice(self, step: Step, x: str) -> str:
        """Write the shape of a slice of size 1."""
        at = step.settings["axis"]
        return self.like(x, len(step.output.shape), at, at + 1, "1")

    def no_tuples(self, step: Step, x: str) -> str:
        return f"{self.np}.zeros({x}.shape[{step.settings['start']}:-1], {self.np}.int64)"

    # Moving elements

    def cast(self, step: Step, x: str) -> str:
        del step
        return f"{x}.astype({self.np}.int64)"

    def concat(self, step: Step, x: str, y: str) -> str:
        return f"{self.np}.concatenate([{x}, {y}], axis={step.settings['axis']})"

    def narrow(self, step: Step, x: str, y: str) -> str:
        axis = step.settings["axis"]
        parts = [
            ":" if at == axis else f":{self.length(y, at)}" for at in range(len(step.output.shape))
        ]
        if parts[-1] == ":":
            parts.pop()
        return f"{x}[{', '.join(parts)}]"

    def length(self, x: str, axis: int) -> str:
        """Write the end of a slice."""
        return f"{x}.shape[{axis}]"

    def widened(self, step: Step, x: str) -> tuple[str, str]:
        """Return whether an axis is empty, and zeros in which it is not."""
        start, stop = step.settings["start"], step.settings["stop"]
        condition = f"not {x}.shape[{start}]"
        sizes = "1"
        if stop - start > 1:
            condition = f"0 in {x}.shape[{start}:{stop}]"
            sizes = f"*(max(n, 1) for n in {x}.shape[{start}:{stop}])"
        shape = self.like(x, len(step.output.shape), start, stop, sizes)
        return condition, f"{self.np}.zeros({shape}, {x}.dtype)"

    def merge(self, step: Step, x: str) -> str:
        start, stop = step.settings["start"], step.settings["stop"]
        if start == stop:
            return self.expand(x, start)
        rank = len(step.inputs[0].shape)
        return f"{x}.reshape({self.like(x, rank, start, stop, _product(x, start, stop))})"

    def expand(self, x: str, axis: int) -> str:
        """Write a tensor with a further axis."""
        return f"{self.np}.expand_dims({x}, {axis})"

    def transposed(self, x: str, order: Sequence[int]) -> str:
        """Write a tensor with its axes in another order."""
        return f"{x}.transpose({', '.join(map(str, order))})"

    # Arithmetic

    def where(self, step: Step, c: str, x: str, y: str) -> str:
        del step
        return f"{self.np}.where({c}, {x}, {y})"

    def minimum(self, step: Step, x: str, y: str) -> str:
        del step
        return f"{self.np}.minimum({x}, {y})"

    def maximum(self, step: Step, x: str, y: str) -> str:
        del step
        return f"{self.np}.maximum({x}, {y})"

    def total(self, step: Step, x: str) -> str:
        del step
        return f"{x}.sum(-1)"

    # Gathering

    def gather(self, step: Step, x: str, y: str) -> str | tuple[list[str], str]:
        axis, b = step.settings["axis"], step.settings["batch_dims"]
        if not b:
            return self.take(x, y, axis)
        data, indices = step.inputs
        m = len(indices.shape)
        setup, coordinates = self.batches(x, b, m)
        text = f"{x}[{coordinates}{_colons(axis - b)}{y}]"
        order = _order_after_index(len(data.shape), axis, b, m)
        return setup, text if order is None else self.transposed(text, order)

    def take(self, x: str, y: str, axis: int) -> str:
        """Write a gather without batches; np.take ignores an illegal index of an empty result."""
        return f"{x}[{_colons(axis)}{y}]"

    def batches(self, x: str, b: int, m: int) -> tuple[list[str], str]:
        """Return lines with the coordinates of b batches for indices of rank m, and their names."""
        names = ["p"] if b == 1 else [f"p{at}" for at in range(b)]
        lines = []
        for at, name in enumerate(names):
            new = ", None" * (m - 1 - at)
            lines.append(f"{name} = {self.range(x, at)}{f'[:{new}]' if new else ''}")
        return lines, "".join(f"{name}, " for name in names)

    def range(self, x: str, axis: int) -> str:
        """Write the coordinates along an axis."""
        return f"{self.np}.arange({x}.shape[{axis}])"

    def gather_elements(self, step: Step, x: str, y: str) -> str | tuple[list[str], str]:
        return f"{self.np}.take_along_axis({x}, {y}, axis={step.settings['axis']})"

    def gather_nd(self, step: Step, x: str, y: str) -> str | tuple[list[str], str]:
        setup, place = self.place(step, x, y)
        return setup, f"{x}[{place}]"

    def place(self, step: Step, x: str, y: str) -> tuple[list[str], str]:
        """Return lines and the index of tuples."""
        indices, b = step.inputs[1], step.settings["batch_dims"]
        setup, coordinates = self.batches(x, b, len(indices.shape) - 1)
        parts = (f"{y}[..., {at}]" for at in range(indices.shape[-1]))
        return setup, coordinates + ", ".join(parts)


class _Torch(_NumPy):
    imports = ("import torch",)
    np = "torch"
    beam_functions: ClassVar[Mapping[str, str]] = {
        "shape": "{}.shape",
        "long": "{}.long()",
        "own": "torch.arange(width, device=step_ids.device).expand(batch, width)",
        "where": "torch.where",
        "pick": "torch.gather({}, 1, {})",
        "stack": "torch.stack",
        "count": "torch.cumsum({}, dim=0)",
    }

    def vector(self, sizes: str, x: str) -> str:
        return f"torch.tensor({sizes}, device={x}.device)"

    def zeros(self, step: Step, x: str) -> str:
        return f"{x}.new_zeros({self.like_slice(step, x)})"

    def no_tuples(self, step: Step, x: str) -> str:
        shape = f"{x}.shape[{step.settings['start']}:-1]"
        return f"{x}.new_zeros({shape}, dtype=torch.int64)"

    def cast(self, step: Step, x: str) -> str:
        del step
        return f"{x}.long()"

    def concat(self, step: Step, x: str, y: str) -> str:
        return f"torch.cat([{x}, {y}], dim={step.settings['axis']})"

    def expand(self, x: str, axis: int) -> str:
        return f"{x}.unsqueeze({axis})"

    def transposed(self, x: str, order: Sequence[int]) -> str:
        return f"{x}.permute({', '.join(map(str, order))})"

    def minimum(self, step: Step, x: str, y: str) -> str:
        del step
        return f"{x}.clamp(max={y})"

    def maximum(self, step: Step, x: str, y: str) -> str:
        del step
        return f"{x}.clamp(min={y})"

    def range(self, x: str, axis: int) -> str:
        return f"torch.arange({x}.shape[{axis}], device={x}.device)"

    def gather_elements(self, step: Step, x: str, y: str) -> str:
        return f"torch.gather({x}, {step.settings['axis']}, {y})"


class _Jax(_NumPy):
    imports = ("import jax", "import jax.numpy as jnp")
    wide = (
        "",
        'jax.config.update("jax_enable_x64", True)  # without it 64 bits are cut to 32',
    )
    np = "jnp"
    beam_functions: ClassVar[Mapping[str, str]] = {
        "shape": "{}.shape",
        "long": "{}.astype(jnp.int64)",
        "own": "jnp.broadcast_to(jnp.arange(width), (batch, width))",
        "where": "jnp.where",
        "pick": "jnp.take_along_axis({}, {}, axis=1)",
        "stack": "jnp.stack",
        "count": "jnp.cumsum({}, axis=0)",
    }
    _FILL: Final = 'mode="fill", fill_value=0'

    def check(self, k: str, condition: str, message: str) -> list[str]:
        return [
            f"if not isinstance({k}, jax.core.Tracer):  # a jitted function cannot raise",
            f"    if {self.any(condition)}:",
            f"        raise IndexError({message})",
        ]

    def gather(self, step: Step, x: str, y: str) -> str | tuple[list[str], str]:
        axis, b = step.settings["axis"], step.settings["batch_dims"]
        if not b:
            return f"jnp.take({x}, {y}, axis={axis}, {self._FILL})"
        function = f"lambda d, i: jnp.take(d, i, axis={axis - b}, {self._FILL})"
        take = "jax.vmap(" * b + "take" + ")" * b
        return [f"take = {function}"], f"{take}({x}, {y})"

    def gather_elements(self, step: Step, x: str, y: str) -> str:
        axis = step.settings["axis"]
        return f"jnp.take_along_axis({x}, {y}, axis={axis}, {self._FILL})"

    def gather_nd(self, step: Step, x: str, y: str) -> tuple[list[str], str]:
        setup, place = self.place(step, x, y)
        return setup, f"{x}.at[{place}].get({self._FILL})"


class _TensorFlow(_NumPy):
    imports = ("import tensorflow as tf",)
    np = "tf"
    beam_functions: ClassVar[Mapping[str, str]] = {
        "shape": "{}.shape",
        "long": "tf.cast({}, tf.int64)",
        "own": "tf.broadcast_to(tf.range(width, dtype=tf.int64), (batch, width))",
        "where": "tf.where",
        "pick": "tf.gather({}, {}, axis=1, batch_dims=1)",
        "stack": "tf.stack",
        "count": "tf.cumsum({}, axis=0)",
    }
    has_numbers = False

    def check(self, k: str, condition: str, message: str) -> list[str]:
        return [
            f"illegal = {self.any(condition)}",
            f"tf.debugging.Assert(~illegal, [{message}, {k}])",
        ]

    def any(self, condition: str) -> str:
        return f"tf.reduce_any({condition})"

    def size(self, step: Step, x: str) -> str:
        return f"tf.shape({x}, tf.int64)[{step.settings['axis']}]"

    def sizes(self, step: Step, x: str) -> str:
        return f"tf.shape({x}, tf.int64)[{step.settings['start']}:{step.settings['stop']}]"

    def strides(self, step: Step, x: str) -> str:
        return f"tf.math.cumprod({self.sizes(step, x)}, exclusive=True, reverse=True)"

    def zeros(self, step: Step, x: str) -> str:
        del step
        return x  # tf.pad adds them

    def no_tuples(self, step: Step, x: str) -> str:
        return f"tf.zeros(tf.shape({x})[{step.settings['start']}:-1], tf.int64)"

    def cast(self, step: Step, x: str) -> str:
        del step
        return f"tf.cast({x}, tf.int64)"

    def concat(self, step: Step, x: str, y: str) -> str:
        del y
        ends = [[0, int(at == step.settings["axis"])] for at in range(len(step.output.shape))]
        return f"tf.pad({x}, {ends})"

    def length(self, x: str, axis: int) -> str:
        return f"tf.shape({x})[{axis}]"

    def merge(self, step: Step, x: str) -> str | tuple[list[str], str]:  # type: ignore[override]
        start, stop = step.settings["start"], step.settings["stop"]
        if start == stop:
            return self.expand(x, start)
        parts = [f"n[:{start}]", f"[tf.reduce_prod(n[{start}:{stop}])]", f"n[{stop}:]"]
        shape = f"tf.concat([{', '.join(parts)}], 0)"
        return [f"n = tf.shape({x})"], f"tf.reshape({x}, {shape})"

    def transposed(self, x: str, order: Sequence[int]) -> str:
        return f"tf.transpose({x}, {list(order)})"

    def total(self, step: Step, x: str) -> str:
        del step
        return f"tf.reduce_sum({x}, -1)"

    def gather(self, step: Step, x: str, y: str) -> str:
        axis, b = step.settings["axis"], step.settings["batch_dims"]
        batches = f", batch_dims={b}" if b else ""
        return f"tf.gather({x}, {y}, axis={axis}{batches})"

    def gather_elements(self, step: Step, x: str, y: str) -> str | tuple[list[str], str]:
        axis, last = step.settings["axis"], len(step.output.shape) - 1
        batches = f", batch_dims={last}" if last else ""
        if axis == last:
            return f"tf.gather({x}, {y}, axis={last}{batches})"
        order = [*(at for at in range(last + 1) if at != axis), axis]
        back = [order.index(at) for at in range(last + 1)]
        lines = [
            f"rows = {self.transposed(x, order)}",
            f"places = {self.transposed(y, order)}",
        ]
        return lines, self.transposed(f"tf.gather(rows, places, axis={last}{batches})", back)

    def gather_nd(self, step: Step, x: str, y: str) -> str:
        b = step.settings["batch_dims"]
        return f"tf.gather_nd({x}, {y}{f', batch_dims={b}' if b else ''})"


Dialect: TypeAlias = _NumPy
"""The expressions of a framework."""

DIALECTS: Final[dict[str, Dialect]] = {
    "numpy": _NumPy(),
    "torch": _Torch(),
    "jax": _Jax(),
    "tensorflow": _TensorFlow(),
}
"""The dialects by target."""
