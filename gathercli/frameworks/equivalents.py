"""Find the call of a framework by what people type, and translate its arguments."""

from __future__ import annotations

import re
from functools import cache

from gathercli.errors import UsageError
from gathercli.frameworks import (
    FrameworkFile,
    FrameworkRow,
    every_framework,
    every_row,
    framework,
    names,
)
from gathercli.records import Final
from gathercli.text import closest, listed, shell_word


@cache
def _by_name() -> dict[str, FrameworkRow]:
    return {name: each for each in every_row() for name in each.names}


# Short names of modules in files of frameworks, for which not all of those need to be read.
SHORT: Final = {
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
    **dict.fromkeys(("a", "arr", "input", "params", "weight"), "data"),
    "dim": "axis",
    "index": "indices",
    "max_sequence_lengths": "max_seq_len",
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
    if dot and head not in SHORT and head not in names():
        head = next((each.name for each in every_framework() if head in each.short), head)
    return SHORT.get(head, head) + dot + rest


def not_here(word: str) -> str | None:
    """Return why no version equals a known call such as ``tf.scatter_nd``, or None."""
    name = re.sub(r"[-_]|\d+$", "", _full_name(word).rpartition(".")[2])
    return "it writes where a gather reads, and no operator here does" if name in _WRITING else None


def find_equivalent(word: str) -> FrameworkRow | None:
    """Return the call with a name, or None."""
    name = _full_name(word)
    library = name.partition(".")[0]
    own = framework(library).rows if library in names() else ()  # one file is read sooner than all
    each = next((row for row in own if name in row.names), None) or _by_name().get(name)
    if each is None and (subscript := _SUBSCRIPT.fullmatch(word.strip())):
        indices = [part for part in _split(subscript[2]) if part not in (":", "...")]
        are_tuples = len(indices) > 1 or any(map(_MASK.search, indices))
        return _by_name()["x[i, j]" if are_tuples else "x[i]"]
    return each


def equivalent(call: str) -> FrameworkRow:
    """Return a call by name, ``np.take`` or ``torch.Tensor.gather()``, or raise `UsageError`.

    >>> equivalent("jnp.take").name
    'jax.numpy.take'
    """
    if each := find_equivalent(call):
        return each
    why = not_here(call)
    near = [] if why else [f"`gathercli ops --like {shell_word(name)}`" for name in _near(call)]
    what = f"no call `{call[:40]}` is known{f' ({why})' if why else ''}"
    expected = listed(each.name for each in every_row())
    hint = f"did you mean {listed(near)}?" if near else None
    raise UsageError(what, value=call, expected=expected, hint=hint)


def _near(call: str) -> list[str]:
    """Return the closest call of the same library, or those with the last name of a call.

    The last name is that of ``gather_nd``, ``tf.raw_ops.GatherNd``.
    """
    full_name = _full_name(call)
    library, _, name = full_name.partition(".")
    names = [each[len(library) + 1 :] for each in _by_name() if each.startswith(f"{library}.")]
    if near := closest(name, names, cutoff=0.75):
        return [_by_name()[f"{library}.{near}"].name]
    parts = {each.name: each.name.rpartition(".") for each in every_row()}
    module, _, last = full_name.rpartition(".")
    if module and any(module == its for its, _, _ in parts.values()):
        return []  # a known library without this call
    last = re.sub("[-_]", "", last)
    if last in _SUBSCRIPTS:
        return [_by_name()["x[i, j]"].name]
    return [name for name, (*_, its) in parts.items() if last == its.replace("_", "").lower()]


def of_framework(word: str) -> list[FrameworkRow]:
    """Return the call with a name, or all calls of the framework with this name.

    >>> [each.name for each in of_framework("tfa")]
    ['tensorflow_addons.seq2seq.gather_tree']
    """
    of = framework_named(word)
    if of and (own := [row for row in of.rows if row.op.version and row.op.id == word.lower()]):
        return own
    if each := find_equivalent(word):
        return [each]
    module = re.sub(r"[\s:_-]*v?[\d.]*$", "", _full_name(word))
    if of is None or "." not in module:
        return [*of.rows] if of else []
    return [*of.rows] if any(row.name.startswith(f"{module}.") for row in of.rows) else []


def framework_named(word: str) -> FrameworkFile | None:
    """Return the framework with whose name, full or short, a word begins, or None.

    >>> framework_named("tf-2.21").name, framework_named("np.take").name
    ('tensorflow', 'numpy')
    """
    head = re.match(r"[a-z_]*", word.strip().lower())
    short = head[0].rstrip("_") if head else ""
    name = SHORT.get(short, short).partition(".")[0]
    if name in names():
        return framework(name)
    return next((each for each in every_framework() if short in each.short), None)


def call_like(word: str) -> FrameworkRow | None:
    """Return the call whose name is closest to a misspelt one of its library, or None."""
    near = _near(word)
    return find_equivalent(near[0]) if near else None


def arguments_of(call: str) -> list[str]:
    """Return the arguments in the code of a call as arguments and options of a command.

    >>> arguments_of("torch.gather(x, dim=1, index=idx)"), arguments_of("x[:, idx]")
    (['x', 'idx', '--axis=1'], ['x', 'idx', '--axis=1'])
    """
    call = call.strip()
    if not {"(", "["} & {*call} or call.lower() in _by_name():
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
