"""Calls of other frameworks, those of `equivalents.toml`: find one, and translate its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from gathercli.errors import UsageError
from gathercli.records import NamedTuple
from gathercli.spec.op import FROM_THE_END, REFUSED, Negative, Op, OutOfRange
from gathercli.text import closest, listed, shell_word, table_beside

MODULO: Final = "wrapped modulo s"
FILLED: Final = "filled with NaN or an extreme of the type"

_NEGATIVE: Final = {FROM_THE_END: Negative.WRAP, REFUSED: Negative.ERROR}
_OUTSIDE: Final = {
    REFUSED: OutOfRange.ERROR,
    MODULO: OutOfRange.WRAP,
    OutOfRange.CLAMP.done: OutOfRange.CLAMP,
    FILLED: OutOfRange.ZERO,  # the nearest
}
"""The option for each treatment of an index."""


class Equivalent(NamedTuple):
    """A call of another framework; `equivalents.toml` says what its fields are."""

    name: str  # the usual one: ``torch.gather``
    call: str
    rows: Sequence[str]
    negative: str
    outside: str
    differs: Sequence[str] = ()
    fixes: Mapping[str, str] = {}
    aliases: Sequence[str] = ()

    def settings(self, op: Op) -> dict[str, str]:
        """Return the options with which a version treats indices like the call, or nearly so."""
        settings: dict[str, str] = {}
        if self.negative != op.negative and self.negative in _NEGATIVE:
            settings["negative"] = _NEGATIVE[self.negative].value
        policy = _OUTSIDE[self.outside]
        if policy is not op.out_of_range:
            settings["out_of_range"] = policy.value
        return settings

    @property
    def exception(self) -> str | None:
        """The main difference from a version with these settings, as a clause."""
        if self.outside == FILLED:
            return f"an index outside is {FILLED}, and here {OutOfRange.ZERO.done}"
        return next(iter(self.differs), None)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The positional arguments of the call, in order."""
        call = re.search(r"\((.*)\)$", self.call)
        return tuple(each for each in call[1].split(", ") if "=" not in each) if call else ()


@cache
def every_equivalent() -> tuple[Equivalent, ...]:
    """Return all calls, by framework."""
    return tuple(
        Equivalent(
            name, **each | {"differs": [" ".join(line.split()) for line in each.get("differs", ())]}
        )
        for name, each in table_beside(__name__).items()
    )


@cache
def _by_name() -> dict[str, Equivalent]:
    """Return the calls by their names in lower case."""
    return {
        name.lower(): each for each in every_equivalent() for name in (each.name, *each.aliases)
    }


_SHORT: Final = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "tf": "tensorflow",
    "tfa": "tensorflow_addons",
    "pytorch": "torch",
}
_WRITING: Final = (
    *("scatter", "scatteradd", "scatterelements", "scatternd", "scatterupdate"),
    *("indexadd", "indexcopy", "indexput", "putalongaxis"),
)
# Argument names of other frameworks and the names here.
_PARAMETERS: Final = {
    "a": "data",
    "arr": "data",
    "dim": "axis",
    "index": "indices",
    "input": "data",
    "max_sequence_lengths": "max_seq_len",
    "params": "data",
    "weight": "data",
}

_TENSORS: Final = ("data", "indices", "step_ids", "parent_ids", "max_seq_len", "end_token")
_SUBSCRIPT: Final = re.compile(r"([A-Za-z_][\w.]*)\[(.*)\]", re.DOTALL)
# What an index that is a mask is called, or computed with.
_MASK: Final = re.compile(r"mask|[<>]|[=!]=", re.IGNORECASE)
# The last names, without underscores, of calls that are written `x[i, j]`.
_SUBSCRIPTS: Final = ("getitem", "index")

_CALL: Final = re.compile(r"[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)


def _full_name(call: str) -> str:
    """Return the name of a call in lower case, without arguments or abbreviated modules."""
    name = re.sub(r"\(.*\)$", "", call.strip(), flags=re.DOTALL).lower()
    head, dot, rest = name.partition(".")
    return _SHORT.get(head, head) + dot + rest


def not_here(word: str) -> str | None:
    """Return why no version equals a known call such as ``tf.scatter_nd``, or None."""
    name = re.sub(r"[-_]|\d+$", "", _full_name(word).rpartition(".")[2])
    return "it writes where a gather reads, and no operator here does" if name in _WRITING else None


def find_equivalent(word: str) -> Equivalent | None:
    """Return the call with a name, or None."""
    each = _by_name().get(_full_name(word))
    if each is None and (subscript := _SUBSCRIPT.fullmatch(word.strip())):
        indices = [part for part in _split(subscript[2]) if part not in (":", "...")]
        are_tuples = len(indices) > 1 or any(map(_MASK.search, indices))
        return _by_name()["x[i, j]" if are_tuples else "x[i]"]
    return each


def equivalent(call: str) -> Equivalent:
    """Return a call by name, ``np.take`` or ``torch.Tensor.gather()``, or raise `UsageError`.

    >>> equivalent("jnp.take").name
    'jax.numpy.take'
    """
    if each := find_equivalent(call):
        return each
    why = not_here(call)
    near = [] if why else [f"`gathercli ops --like {shell_word(name)}`" for name in _near(call)]
    raise UsageError(
        f"no call `{call[:40]}` is known{f' ({why})' if why else ''}",
        value=call,
        expected=listed(each.name for each in every_equivalent()),
        hint=f"did you mean {listed(near)}?" if near else None,
    )


def _near(call: str) -> list[str]:
    """Return the closest call of the same library, or those with the last name of a call.

    The last name is that of ``gather_nd``, ``tf.raw_ops.GatherNd``.
    """
    full_name = _full_name(call)
    library, _, name = full_name.partition(".")
    names = [each[len(library) + 1 :] for each in _by_name() if each.startswith(f"{library}.")]
    if near := closest(name, names, cutoff=0.75):
        return [_by_name()[f"{library}.{near}"].name]
    parts = {each.name: each.name.rpartition(".") for each in every_equivalent()}
    module, _, last = full_name.rpartition(".")
    if module and any(module == its for its, _, _ in parts.values()):
        return []  # a known library without this call
    last = re.sub("[-_]", "", last)
    if last in _SUBSCRIPTS:
        return ["x[i, j]"]
    return [name for name, (*_, its) in parts.items() if last == its.replace("_", "").lower()]


def of_framework(word: str) -> list[Equivalent]:
    """Return the call with a name, or all calls of the framework with this name.

    >>> [each.name for each in of_framework("tf-2.21")]
    ['tensorflow.gather', 'tensorflow.gather_nd']
    """
    if each := find_equivalent(word):
        return [each]
    framework = re.sub(r"[\s:_-]*[\d.]*$", "", _full_name(word))
    framework = _SHORT.get(framework, framework).partition(".")[0]
    arrays = (f"{framework}.ndarray[", f"{framework}.tensor[")
    calls = every_equivalent()
    named = [each for each in calls if each.name.partition(".")[0] == framework]
    others = [each for each in calls if any(a.lower().startswith(arrays) for a in each.aliases)]
    return named + [each for each in others if each not in named]


def arguments_of(call: str) -> list[str]:
    """Return the arguments in the code of a call as arguments and options of a command.

    >>> arguments_of("torch.gather(x, dim=1, index=idx)"), arguments_of("x[:, idx]")
    (['x', 'idx', '--axis=1'], ['x', 'idx', '--axis=1'])
    """
    call = call.strip()
    if call.lower() in _by_name():
        return []
    if subscript := _SUBSCRIPT.fullmatch(call):
        return _subscript(subscript[1], [part.strip() for part in subscript[2].split(",")])
    each, code = find_equivalent(call), _CALL.fullmatch(call)
    if each is None or code is None:
        return []
    values: dict[str, str] = {}
    free = list(each.arguments)  # positional arguments without a value
    for part in _split(code[1]):
        keyword = re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", part, re.DOTALL)
        name = _PARAMETERS.get(keyword[1], keyword[1]) if keyword else free[0] if free else ""
        if name in free:
            free.remove(name)
        values[name] = (keyword[2] if keyword else part).strip("'\"")
    tensors = [name for name in each.arguments if name in _TENSORS]
    if "" in values or not set(tensors) <= values.keys():
        return []
    options = [f"--{name}={value}" for name, value in values.items() if name not in _TENSORS]
    return [values[name] for name in tensors] + options


def _split(text: str) -> list[str]:
    """Split arguments at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _subscript(data: str, parts: list[str]) -> list[str]:
    """Return the arguments of ``data[:, indices]``; an empty list unless it has one index.

    A mask is no index.
    """
    axes = [axis for axis, part in enumerate(parts) if part not in (":", "...", "")]
    if len(axes) != 1 or _MASK.search(parts[axes[0]]):
        return []
    (axis,) = axes
    indices = parts[axis]
    if "..." in parts[:axis]:
        axis -= len(parts)
    return [data, indices, f"--axis={axis}"]
