"""Outputs with mistakes of known kinds, for `diagnose` to name: ``python -m campaigns``.

The mistakes are made here by plain NumPy, with nothing of the package but its reading of a call.
Each returns what it makes and the name that `diagnose` has for it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gathercli.compute.storage import dtype_of
from gathercli.compute.tensor import Tensor
from gathercli.diagnose.diagnosis import diagnose

if TYPE_CHECKING:
    from collections.abc import Callable

    from gathercli.diagnose.diagnosis import Diagnosis

    Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A call, and the names of the mistakes that its output has."""

    op: str
    version: str
    data: Array
    indices: Array
    attrs: dict[str, Any]
    wrong: Array
    names: tuple[str, ...]

    def diagnosis(self, wrong: Array | None = None) -> Diagnosis:
        """Diagnose the output, or another."""
        tensors = [_tensor(self.data), _tensor(self.indices)]
        output = _tensor(self.wrong if wrong is None else wrong)
        return diagnose(self.op, *tensors, wrong=output, version=self.version, **self.attrs)


def _tensor(array: Array) -> Tensor:
    dtype = dtype_of(array.dtype)
    assert dtype is not None
    return Tensor(dtype, np.ascontiguousarray(array))


class Setting(NamedTuple):
    """A call before its mistakes: the treatment of an index k on an axis of size s."""

    op: str
    data: Array
    indices: Array
    axis: int
    batch_dims: int
    treat: Callable[[int, int], Any]

    def output(self) -> Array:
        """Gather by plain loops; a treatment returns a position, or a fill as a `Fill`."""
        data, indices, a, b = self.data, self.indices, self.axis, self.batch_dims
        if self.op == "gather":
            shape = data.shape[:a] + indices.shape[b:] + data.shape[a + 1 :]
        elif self.op == "gather-elements":
            shape = indices.shape
        else:
            k = indices.shape[-1]
            shape = indices.shape[:-1] + data.shape[b + k :]
        out = np.zeros(shape, data.dtype)
        for c in np.ndindex(*shape):
            out[c] = self._element(c)
        return out

    def _element(self, c: tuple[int, ...]) -> Any:
        data, indices, a, b = self.data, self.indices, self.axis, self.batch_dims
        if self.op == "gather":
            m = indices.ndim - b
            points = [(a, int(indices[(*c[:b], *c[a : a + m])]))]
            at = [*c[:a], 0, *c[a + m :]]
        elif self.op == "gather-elements":
            points, at = [(a, int(indices[c]))], list(c)
        else:
            lead, k = indices.ndim - 1, indices.shape[-1]
            t = indices[c[:lead]]
            points = [(b + j, int(t[j])) for j in range(k)]
            at = [*c[:b], *[0] * k, *c[lead:]]
        flat = 0
        for axis, k in points:
            position = self.treat(k, data.shape[axis])
            if isinstance(position, Fill):
                return position.of(data.dtype)
            at[axis] = position
        for position, size in zip(at, data.shape, strict=True):
            flat = flat * size + position
        return data.reshape(-1)[flat] if 0 <= flat < data.size else _heap(data.dtype, flat)


class Fill(NamedTuple):
    """A fill: ``zero``, ``nan``, ``low`` or ``high``."""

    name: str

    def of(self, dtype: np.dtype[Any]) -> Any:
        """Return the value in a type."""
        if self.name == "zero":
            return dtype.type(0)
        if dtype.kind == "f":
            return {"nan": np.nan, "low": np.finfo(dtype).min, "high": np.finfo(dtype).max}[
                self.name
            ]
        ends = np.iinfo(dtype)
        return {
            "nan": ends.max if dtype.kind == "u" else ends.min,
            "low": ends.min,
            "high": ends.max,
        }[self.name]


ZERO: Final = Fill("zero")


def _heap(dtype: np.dtype[Any], flat: int) -> Any:
    """Return what lies outside of the data."""
    dice = random.Random(flat)  # noqa: S311
    return dtype.type(dice.randrange(1, 100) + (0.5 if dtype.kind == "f" else 0))


def specified(k: int, s: int) -> Any:
    """Treat an index as OpenVINO's Gather-8 does."""
    k = k + s if k < 0 else k
    return k if 0 <= k < s else ZERO


def _wrap(k: int, s: int) -> int:
    return k + s if k < 0 else k


def _inside(k: int, s: int, fill: Fill) -> Any:
    return k if 0 <= k < s else fill


TREATMENTS: Final[dict[str, Callable[[int, int], Any]]] = {
    "zero-filled": lambda k, s: _inside(k, s, ZERO),
    "modulo": lambda k, s: k % s,
    "clamped": lambda k, s: min(max(k, 0), s - 1),
    "clamped after wrapping": lambda k, s: min(max(_wrap(k, s), 0), s - 1),
    "filled with NaN after wrapping": lambda k, s: _inside(_wrap(k, s), s, Fill("nan")),
    "filled with NaN": lambda k, s: _inside(k, s, Fill("nan")),
    "filled with the least value after wrapping": lambda k, s: _inside(_wrap(k, s), s, Fill("low")),
    "filled with the greatest value after wrapping": lambda k, s: _inside(
        _wrap(k, s), s, Fill("high")
    ),
    "no bounds check": lambda k, _: k,
    "no bounds check after wrapping": _wrap,
}
"""What becomes of an index outside the axis, by its name."""


def _cut(bits: int) -> Callable[[Array], Array]:
    return lambda k: k.astype(np.int64).astype(f"i{bits // 8}").astype(np.int64)


CONVERSIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "cut to 32 bits": _cut(32),
    "cut to 16 bits": _cut(16),
    "cut to 8 bits": _cut(8),
    "one too large": lambda k: k + 1,
    "one too small": lambda k: k - 1,
}


def _bfloat16(x: Array) -> Array:
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


READINGS: Final[dict[str, tuple[str, Callable[[Array], Array]]]] = {
    "cut to 32 bits": ("i8 u8", lambda x: x.astype(np.int32).astype(x.dtype)),
    "rounded to float16": ("f4 f8", lambda x: x.astype(np.float16).astype(x.dtype)),
    "rounded to bfloat16": ("f4 f8", lambda x: _bfloat16(x).astype(x.dtype)),
    "rounded to float32": ("f8 i8", lambda x: x.astype(np.float32).astype(x.dtype)),
    "bits read as int32": ("f4", lambda x: x.view(np.int32)),
    "bits read as float64": ("i8", lambda x: x.view(np.float64)),
    "bits read as bfloat16": (
        "f2",
        lambda x: (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32),
    ),
    "bytes swapped": ("i2 i4 f4 i8 f8 u8", lambda x: x.byteswap()),
}


class Dice(random.Random):
    """Random calls."""

    def shape(self, rank: int) -> tuple[int, ...]:
        """Return sizes that all differ."""
        return tuple(self.sample(range(2, 8), rank))

    def data(self, shape: tuple[int, ...]) -> Array:
        """Return data of any number type, without order."""
        dtype = np.dtype(self.choice(("i2", "i4", "i8", "u1", "u8", "f2", "f4", "f4", "f8")))
        numbers = np.random.default_rng(self.getrandbits(32))
        if dtype.kind == "f":
            return (numbers.normal(size=shape) * 10).astype(dtype)
        ends = np.iinfo(dtype)
        return numbers.integers(ends.min, ends.max, shape, dtype, endpoint=True)

    def indices(self, shape: tuple[int, ...], sizes: tuple[int, ...], *, most: int) -> Array:
        """Return indices in [0, s); negative ones too if `most` is 1, others outside if it is 2."""

        def one(s: int) -> int:
            kind = self.randrange(most + 1)
            if kind == 0:
                return self.randrange(s)
            if kind == 1:
                return self.randrange(-s, 0)
            return self.choice((self.randrange(s, 3 * s), -s - 1 - self.randrange(2 * s)))

        flat = [one(sizes[n % len(sizes)]) for n in range(int(np.prod(shape)))]
        return np.array(flat, self.choice(("i4", "i8"))).reshape(shape)

    def setting(self, *, most: int, only_legal: bool) -> Setting:
        """Return a call with an output of several cells, with `only_legal` of legal indices."""
        op = self.choice(("gather", "gather", "gather", "gather-elements", "gather-nd"))
        if only_legal and op != "gather":  # the version refuses others
            most = min(most, 1)
        rank = self.randrange(1, 4) if op == "gather" else self.randrange(2, 4)
        shape = self.shape(rank)
        data, axis, b = self.data(shape), self.randrange(rank), 0
        if op == "gather":
            b = self.randrange(min(axis, 1) + 1)
            more = tuple(self.randrange(2, 6) for _ in range(self.randrange(1, 3)))
            return self._finish(op, data, (*shape[:b], *more), (shape[axis],), axis, b, most)
        if op == "gather-elements":
            sizes = list(shape)
            sizes[axis] = self.randrange(2, 9)
            return self._finish(op, data, tuple(sizes), (shape[axis],), axis, 0, most)
        b = self.randrange(2)
        k = self.randrange(1, rank - b + 1)
        lead = (*shape[:b], self.randrange(3, 7))
        return self._finish(op, data, (*lead, k), shape[b : b + k], 0, b, most)

    def _finish(  # noqa: PLR0917
        self,
        op: str,
        data: Array,
        shape: tuple[int, ...],
        sizes: tuple[int, ...],
        axis: int,
        b: int,
        most: int,
    ) -> Setting:
        return Setting(op, data, self.indices(shape, sizes, most=most), axis, b, specified)


def _treated(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    name = dice.choice(list(TREATMENTS))
    return setting._replace(treat=TREATMENTS[name]), name


def _converted(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    name = dice.choice(list(CONVERSIONS))
    return setting._replace(indices=CONVERSIONS[name](setting.indices)), name


def _other_axis(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    """Move negative indices by the size of another axis."""
    if setting.op == "gather-nd" or setting.data.ndim < 2:
        raise Unfit
    axis = dice.choice([d for d in range(setting.data.ndim) if d != setting.axis])
    size, k = setting.data.shape[axis], setting.indices
    moved = np.where(k < 0, k + size, k)
    return setting._replace(indices=moved), f"negative ones moved by axis {axis}"


def _called(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    """Gather along another axis, with another batch_dims, or by another operator."""
    rank = setting.data.ndim
    if setting.op == "gather-nd":
        if setting.indices.ndim != 1 + setting.batch_dims or not setting.batch_dims:
            raise Unfit
        return setting._replace(batch_dims=0), "GatherND batch_dims 0"
    axis = dice.choice([d for d in range(rank) if d != setting.axis] or [setting.axis])
    if setting.op == "gather-elements":
        off = [d for d in range(rank) if d != axis]
        sizes = zip(
            (setting.indices.shape[d] for d in off),
            (setting.data.shape[d] for d in off),
            strict=True,
        )
        if dice.randrange(2) or any(i > d for i, d in sizes) or axis == setting.axis:
            return setting._replace(op="gather"), f"Gather axis {setting.axis}  batch_dims 0"
        return setting._replace(axis=axis), f"GatherElements axis {axis}"
    if setting.batch_dims and (dice.randrange(2) or axis < setting.batch_dims):
        return setting._replace(batch_dims=0), f"Gather axis {setting.axis}  batch_dims 0"
    if axis == setting.axis:
        raise Unfit
    return (setting._replace(axis=axis), f"Gather axis {axis}  batch_dims {setting.batch_dims}")


def _laid_out(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    if setting.data.ndim < 2 or setting.batch_dims:
        raise Unfit
    if dice.randrange(2):
        data = setting.data.reshape(-1, order="F").reshape(setting.data.shape)
        return setting._replace(data=data), "Fortran order"
    if setting.op == "gather-elements":
        raise Unfit
    return setting._replace(data=setting.data.T.copy()), "transposed"


def _read(setting: Setting, dice: Dice) -> tuple[Setting, str]:
    letter = setting.data.dtype.str[1:]
    names = [name for name, (types, _) in READINGS.items() if letter in types.split()]
    if not names:
        raise Unfit
    name = dice.choice(names)
    with np.errstate(all="ignore"):
        return setting._replace(data=READINGS[name][1](setting.data)), name


class Unfit(Exception):  # noqa: N818
    """The call cannot have the mistake."""


def _placed(out: Array, dice: Dice) -> tuple[Array, str]:  # noqa: PLR0911
    kind = dice.randrange(9)
    axis = dice.randrange(out.ndim) if out.ndim else 0
    n = out.shape[axis] if out.ndim else 0
    if kind == 0 and out.ndim > 1:
        return out.T.copy(), "transposed"
    if kind == 1 and out.ndim > 1:
        return out.reshape(-1), "reshaped"
    if kind == 2 and n > 2:
        row = dice.randrange(n)
        name = {0: "first rows missing", n - 1: "last rows missing"}.get(row, f"row {row} missing")
        return np.delete(out, row, axis), f"{name} along axis {axis}"
    if kind == 3 and n > 1:
        times = dice.randrange(2, 4)
        return np.repeat(out, times, axis), f"each {times} times along axis {axis}"
    if kind == 4 and n > 2:
        row = dice.randrange(n)
        end = {0: "first again", n - 1: "last again"}.get(row, f"row {row} again")
        return np.insert(out, row, np.take(out, row, axis), axis), f"{end} along axis {axis}"
    if kind == 5 and out.ndim > 1 and out.shape[-1] > 1:
        wrong = np.zeros_like(out)
        wrong[..., 0] = out[..., 0]
        return wrong, f"first of {out.shape[-1]}"
    if kind == 6 and n > 2 and out.ndim > 1:
        row = dice.randrange(1, n)
        wrong = np.moveaxis(out.copy(), axis, 0)
        wrong[row:] = wrong[row - 1]
        which = f"row {row}" if row == n - 1 else f"rows {row} to {n - 1}"
        return np.moveaxis(wrong, 0, axis).copy(), f"{which} stale along axis {axis}"
    if kind == 7 and n > 2 and out.ndim > 1:
        row = dice.randrange(1, n)
        wrong = np.moveaxis(out.copy(), axis, 0)
        wrong[row:] = 0
        which = f"row {row}" if row == n - 1 else f"rows {row} to {n - 1}"
        return np.moveaxis(wrong, 0, axis).copy(), f"{which} zero along axis {axis}"
    if kind == 8 and out.ndim > 1 and sum(size > 1 for size in out.shape) > 1:
        return out.reshape(-1, order="F").reshape(out.shape), "Fortran order"
    raise Unfit


BEFORE: Final[tuple[tuple[str, Callable[[Setting, Dice], tuple[Setting, str]]], ...]] = (
    ("treatment", _treated),
    ("treatment", _treated),
    ("conversion", _converted),
    ("conversion", _other_axis),
    ("frame", _called),
    ("layout", _laid_out),
    ("reading", _read),
)


def case(seed: int, number: int) -> Case:
    """Draw a call whose output has some number of mistakes, each with an effect."""
    dice = Dice(seed)
    while True:
        try:
            drawn = _drawn(dice, number)
        except (Unfit, IndexError, ValueError, OverflowError):
            continue
        if drawn is not None:
            return drawn


def _drawn(dice: Dice, number: int) -> Case | None:
    kinds = dice.sample(range(len(BEFORE) + 2), number)
    if sum(kind < 2 for kind in kinds) > 1 or sum(kind in (2, 3) for kind in kinds) > 1:
        return None
    treats = bool({0, 1} & set(kinds))
    most = 2 if treats or 3 in kinds else dice.choice((0, 0, 2))
    setting = dice.setting(most=most, only_legal=not treats)
    if 2 in kinds and dice.randrange(2):
        cuts = setting.indices.astype(np.int64)
        cuts += np.int64(1 << dice.choice((8, 16, 32))) * (cuts % 3 == 0)
        setting = setting._replace(indices=cuts)
    asked, names = setting, []
    outputs = [setting.output()]
    for kind in sorted(kinds):
        if kind < len(BEFORE):
            setting, name = BEFORE[kind][1](setting, dice)
            outputs.append(setting.output())
        else:
            wrong, name = _placed(outputs[-1], dice)
            outputs.append(wrong)
        if _same(outputs[-1], outputs[-2]):
            return None
        names.append(name)
    if len([kind for kind in kinds if kind >= len(BEFORE)]) > 1:
        return None
    wrong = outputs[-1]
    if wrong.size < 6 or (number and not _misses(outputs)):
        return None
    attrs = {"axis": asked.axis, "batch_dims": asked.batch_dims}
    if asked.op == "gather-elements":
        del attrs["batch_dims"]
    if asked.op == "gather-nd":
        del attrs["axis"]
    version = "onnx-13" if asked.op == "gather-elements" else "openvino-8"
    return Case(asked.op, version, asked.data, asked.indices, attrs, wrong, tuple(names))


def _misses(outputs: list[Array]) -> bool:
    """Return whether the mistakes leave a trace of more than one cell."""
    right, wrong = outputs[0], outputs[-1]
    return right.shape != wrong.shape or int(_differs(right, wrong).sum()) > 1


def _differs(one: Array, other: Array) -> Array:
    same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124
    return np.asarray(~same)


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and not _differs(one, other).any()


def is_named(drawn: Case) -> bool:
    """Return whether the mistakes are named first, or tied with the first."""
    names = set(drawn.names)
    # Where the version refuses an index, the output has zeros, which is one more to name.
    zeros = {"wrapped once"} if drawn.op != "gather" and not names & set(TREATMENTS) else set()
    found = [set(each.names) for each in drawn.diagnosis().first]
    return names in found or names | zeros in found


def one_mistake(seed: int) -> str:
    """Name one mistake."""
    return "named" if is_named(case(seed, 1)) else "not named"


def two_mistakes(seed: int) -> str:
    """Name two mistakes of two kinds."""
    return "named" if is_named(case(seed, 2)) else "not named"


def corrupted(case_of: Case, dice: Dice) -> Array:
    """Return an output with one cell corrupted: a bit, a step, or the value of another cell."""
    wrong = case_of.wrong.copy()
    at = dice.randrange(wrong.size)
    flat = wrong.reshape(-1)
    old = flat[at].copy()
    while not _differs(flat[at], old).any():
        kind = dice.randrange(3)
        if kind == 0:
            raw = flat[at : at + 1].view(np.uint8)
            raw[dice.randrange(raw.size)] ^= np.uint8(1 << dice.randrange(8))
        elif kind == 1:
            with np.errstate(all="ignore"):
                flat[at] = flat[at] + flat.dtype.type(1)
        else:
            flat[at] = flat.dtype.type(dice.randrange(1, 100))
    return wrong


def one_cell(seed: int) -> str:
    """Corrupt one cell of a right or a wrong output: it is never wholly explained."""
    dice = Dice(seed)
    drawn = case(seed, dice.randrange(3))
    diagnosis = drawn.diagnosis(corrupted(drawn, dice))
    assert not diagnosis.is_whole, drawn
    return "in part"


CAMPAIGNS: Final[dict[str, Callable[[int], str]]] = {
    "mistakes": one_mistake,
    "two-mistakes": two_mistakes,
    "corrupted": one_cell,
}
