"""Find a call of another framework by its name, and translate its arguments."""

from __future__ import annotations

import re

from gathercli.errors import UsageError
from gathercli.spec.equivalents import EQUIVALENTS
from gathercli.text import closest, listed, shell_word

TYPE_CHECKING = False  # as in `gathercli.errors`
if TYPE_CHECKING:
    from typing import Final

    from gathercli.spec.equivalents import Equivalent

_SHORT: Final = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "tf": "tensorflow",
    "tfa": "tensorflow_addons",
    "pytorch": "torch",
}
_NOT_HERE: Final = dict.fromkeys(
    (
        *("scatter", "scatteradd", "scatterelements", "scatternd", "scatterupdate"),
        *("indexadd", "indexcopy", "indexput", "putalongaxis"),
    ),
    "it writes where a gather reads, and no operator here does",
)
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
"""Argument names of other frameworks and the names here."""

_TENSORS: Final = ("data", "indices", "step_ids", "parent_ids", "max_seq_len", "end_token")
_SUBSCRIPT: Final = re.compile(r"([A-Za-z_][\w.]*)\[(.*)\]", re.DOTALL)
_MASK: Final = re.compile(r"mask|[<>]|[=!]=", re.IGNORECASE)
"""What an index that is a mask is called, or computed with."""

_SUBSCRIPTS: Final = ("getitem", "index")
"""The last names, without underscores, of calls that are written ``x[i, j]``."""

_CALL: Final = re.compile(r"[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)


def equivalent(call: str) -> Equivalent:
    """Return a call by name, ``np.take`` or ``torch.Tensor.gather()``, or raise `UsageError`.

    >>> equivalent("jnp.take").name
    'jax.numpy.take'
    """
    if each := find_equivalent(call):
        return each
    why = not_here(call)
    # Suggest a call of the same library only.
    library, _, name = _full_name(call).partition(".")
    names = [each[len(library) + 1 :] for each in _BY_NAME if each.startswith(f"{library}.")]
    near = None if why else closest(name, names, cutoff=0.75)
    near_names = [_BY_NAME[f"{library}.{near}"].name] if near else _of_last_name(call)
    suggestions = [] if why else [f"`gathercli ops --like {shell_word(n)}`" for n in near_names]
    raise UsageError(
        f"no call `{call[:40]}` is known{f' ({why})' if why else ''}",
        value=call,
        expected=listed(each.name for each in EQUIVALENTS),
        hint=f"did you mean {listed(suggestions)}?" if suggestions else None,
    )


def _of_last_name(call: str) -> list[str]:
    """Return the calls with the last name of a call: ``gather_nd``, ``tf.raw_ops.GatherNd``."""
    module, _, last = _full_name(call).rpartition(".")
    if any(each.name.rpartition(".")[0] == module for each in EQUIVALENTS if module):
        return []  # a known library without this call
    last = re.sub("[-_]", "", last)
    if last in _SUBSCRIPTS:
        return ["x[i, j]"]
    return [
        each.name
        for each in EQUIVALENTS
        if last == each.name.rpartition(".")[2].replace("_", "").lower()
    ]


def arguments_of(call: str) -> list[str]:
    """Return the arguments in the code of a call as arguments and options of a command.

    >>> arguments_of("torch.gather(x, dim=1, index=idx)"), arguments_of("x[:, idx]")
    (['x', 'idx', '--axis=1'], ['x', 'idx', '--axis=1'])
    """
    call = call.strip()
    if call.lower() in _BY_NAME:
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


def of_framework(word: str) -> list[Equivalent]:
    """Return the call with a name, or all calls of the framework with this name.

    >>> [each.name for each in of_framework("tf-2.21")]
    ['tensorflow.gather', 'tensorflow.gather_nd']
    """
    if each := find_equivalent(word):
        return [each]
    framework = re.sub(r"[\s:_-]*[\d.]*$", "", _full_name(word))
    framework = _SHORT.get(framework, framework).partition(".")[0]
    named = [each for each in EQUIVALENTS if each.name.partition(".")[0] == framework]
    aliases = (f"{framework}.ndarray[", f"{framework}.tensor[")
    others = [e for e in EQUIVALENTS if any(a.lower().startswith(aliases) for a in e.aliases)]
    return named + [each for each in others if each not in named]


def not_here(word: str) -> str | None:
    """Return why no version equals a known call such as ``tf.scatter_nd``, or None."""
    name = _full_name(word).rpartition(".")[2]
    return _NOT_HERE.get(re.sub(r"[-_]|\d+$", "", name))


def find_equivalent(word: str) -> Equivalent | None:
    """Return the call with a name, or None."""
    each = _BY_NAME.get(_full_name(word))
    if each is None and (subscript := _SUBSCRIPT.fullmatch(word.strip())):
        indices = [part for part in _split(subscript[2]) if part not in (":", "...")]
        are_tuples = len(indices) > 1 or any(map(_MASK.search, indices))
        return _BY_NAME["x[i, j]" if are_tuples else "x[i]"]
    return each


_BY_NAME: Final = {
    name.lower(): each for each in EQUIVALENTS for name in (each.name, *each.aliases)
}


def _full_name(call: str) -> str:
    """Return the name of a call in lower case, without arguments or abbreviated modules."""
    name = re.sub(r"\(.*\)$", "", call.strip(), flags=re.DOTALL).lower()
    head, dot, rest = name.partition(".")
    return _SHORT.get(head, head) + dot + rest
