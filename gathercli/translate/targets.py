"""The targets of a translation: what their own operators do with an index, and what they lack.

Nothing asks for a target by name: the rows below say all. See semantics of each in its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gathercli.io.ir.layers import ELEMENT_TYPES
from gathercli.spec.dtypes import BFLOAT16, DTYPES, INT64, PLAIN, STRING, DType, dtype
from gathercli.spec.op import INTEGERS, SIGNED_32_64, Negative, OutOfRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class OwnOperator(NamedTuple):
    """What an operator of a target does with an index k on an axis of size s.

    Attributes
    ----------
    title
        Its name for people.
    negative
        ``wrap`` if -s <= k < 0 counts from the end, else ``error``.
    outside
        The fate of any other index: ``zero`` or ``error``.
    refuses, refuses_negative
        Whether an error is promised; without, anything may come out.
    indices
        The types of indices that it takes.
    index_bits
        The bits of an index that it computes with.
    takes_empty
        Whether it does the same with an axis of size 0.
    batches
        Whether it has batch dimensions.
    narrows
        Whether `data` may be larger than `indices` beside the axis.
    lacks
        Types of data that it does not take, beside those of the target.
    note
        What it does that it should not.
    """

    title: str
    negative: Negative
    outside: OutOfRange
    refuses: bool = True
    refuses_negative: bool = True
    indices: tuple[DType, ...] = INTEGERS
    index_bits: int = 64
    takes_empty: bool = True
    batches: bool = True
    narrows: bool = True
    lacks: tuple[DType, ...] = ()
    note: str = ""


class TranslationTarget(NamedTuple):
    """A framework that a call is translated to.

    Attributes
    ----------
    name, title
        The value of `--to`, and the name for people.
    suffix
        The suffix of what is written: ``.onnx``, ``.xml``, ``.py``.
    runtimes
        The runtimes that run it, as `--with` names them.
    data
        The types of data that it has.
    gather, elements, tuples
        Its operators of the three families.
    tree, tree_lacks
        Whether it has an operator for beams, and types for which it has none, nor steps.
    raises
        Whether code can check indices before it uses them.
    wide
        Whether arithmetic takes tensors of one type, so that indices are made int64 first.
    unraised
        Where a check of code raises nothing, for people; empty if it always does.
    notes
        What holds for every program.
    """

    name: str
    title: str
    suffix: str
    runtimes: tuple[str, ...]
    data: tuple[DType, ...]
    gather: OwnOperator
    elements: OwnOperator
    tuples: OwnOperator
    tree: bool = False
    tree_lacks: tuple[DType, ...] = ()
    raises: bool = True
    wide: bool = False
    unraised: str = ""
    notes: tuple[str, ...] = ()


def _types(names: str) -> tuple[DType, ...]:
    return tuple(map(dtype, names.split()))


def _without(types: Iterable[DType], *left: DType) -> tuple[DType, ...]:
    return tuple(each for each in types if each not in left)


_NUMPY: Final = tuple(each for each in DTYPES if not each.opaque)
_LARGE_UNSIGNED: Final = _types("uint16 uint32 uint64")
_FRAMEWORK: Final = _without(PLAIN, STRING)
_WRAPS_OR_RAISES: Final = OwnOperator("", Negative.WRAP, OutOfRange.ERROR)
_FILLS: Final = OwnOperator(
    "", Negative.WRAP, OutOfRange.ZERO, refuses=False, refuses_negative=False, narrows=False
)
_RAISES: Final = OwnOperator("", Negative.ERROR, OutOfRange.ERROR)
_ANYTHING: Final = OwnOperator(
    "",
    Negative.ERROR,
    OutOfRange.ERROR,
    refuses=False,
    refuses_negative=False,
    indices=SIGNED_32_64,
    narrows=False,
)

_JAX_FILLS: Final = _FILLS._replace(indices=SIGNED_32_64, index_bits=32, takes_empty=False)

TARGETS: Final = (
    TranslationTarget(
        "onnx-13",
        "ONNX, opset 13",
        ".onnx",
        ("onnxruntime", "onnx.reference", "openvino"),
        PLAIN,
        gather=_WRAPS_OR_RAISES._replace(title="Gather-13", indices=SIGNED_32_64, batches=False),
        elements=_WRAPS_OR_RAISES._replace(title="GatherElements-13", indices=SIGNED_32_64),
        tuples=_WRAPS_OR_RAISES._replace(title="GatherND-13", indices=(INT64,)),
        tree_lacks=(BFLOAT16,),
        raises=False,
    ),
    TranslationTarget(
        "openvino-8",
        "OpenVINO, opset 8",
        ".xml",
        ("openvino",),
        tuple(ELEMENT_TYPES),
        gather=_FILLS._replace(title="Gather-8"),
        elements=_RAISES._replace(
            title="GatherElements-6", refuses_negative=False, indices=SIGNED_32_64, narrows=False
        ),
        tuples=_WRAPS_OR_RAISES._replace(title="GatherND-8", refuses=False),
        tree=True,
        raises=False,
    ),
    TranslationTarget(
        "torch",
        "PyTorch",
        ".py",
        ("torch",),
        _FRAMEWORK,
        gather=_WRAPS_OR_RAISES._replace(title="x[i]", indices=(INT64,)),
        elements=_RAISES._replace(title="torch.gather", indices=(INT64,), lacks=_LARGE_UNSIGNED),
        tuples=_WRAPS_OR_RAISES._replace(title="x[i, j]", indices=(INT64,)),
        tree_lacks=_LARGE_UNSIGNED,
        notes=("PyTorch refuses no index where the slices have no elements",),
    ),
    TranslationTarget(
        "tensorflow",
        "TensorFlow",
        ".py",
        ("tensorflow",),
        PLAIN,
        gather=_ANYTHING._replace(title="tf.gather"),
        elements=_ANYTHING._replace(title="tf.gather"),
        tuples=_ANYTHING._replace(
            title="tf.gather_nd", note="tf.gather_nd refuses a legal index whose slice is empty"
        ),
        wide=True,
        unraised="a function that XLA compiles raises no error: an illegal index gives anything",
    ),
    TranslationTarget(
        "jax",
        "JAX",
        ".py",
        ("jax",),
        _FRAMEWORK,
        gather=_JAX_FILLS._replace(title="jnp.take"),
        elements=_JAX_FILLS._replace(title="jnp.take_along_axis"),
        tuples=_JAX_FILLS._replace(title="x.at[i, j].get"),
        unraised="a function that jax.jit compiles raises no error: an illegal index gives zeros",
    ),
    TranslationTarget(
        "numpy",
        "NumPy",
        ".py",
        ("numpy",),
        _NUMPY,
        gather=_WRAPS_OR_RAISES._replace(title="x[i]", indices=_without(INTEGERS, dtype("uint64"))),
        elements=_WRAPS_OR_RAISES._replace(
            title="np.take_along_axis", indices=_without(INTEGERS, dtype("uint64")), narrows=False
        ),
        tuples=_WRAPS_OR_RAISES._replace(
            title="x[i, j]", indices=_without(INTEGERS, dtype("uint64"))
        ),
    ),
)
NAMES: Final = tuple(each.name for each in TARGETS)


def _framework(name: str) -> str:
    """Return the name of a target without its opset."""
    return name.partition("-")[0]


FRAMEWORKS: Final = tuple(dict.fromkeys(_framework(name) for name in NAMES))
"""The frameworks, each of which stands for the newest target it has, as with `--version`."""


def example(paths: Sequence[str]) -> str:
    """Return the name of the first target that fits the last of the files to write, if any."""
    fitting = (each.name for each in TARGETS if paths and paths[-1].endswith(each.suffix))
    return next(fitting, NAMES[0])


def target(name: str) -> TranslationTarget:
    """Return the target of a name, or the newest of a framework, the first of its rows."""
    return next(each for each in TARGETS if name in (each.name, _framework(each.name)))
