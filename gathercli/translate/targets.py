"""The targets of a translation: what their own operators do with an index, and what they lack.

The rows below say all of it but how code is written, which `dialects.toml` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from gathercli.io.graphs.layers import ELEMENT_TYPES
from gathercli.spec.dtypes import BFLOAT16, DTYPES, INT64, PLAIN, STRING, DType, dtype
from gathercli.spec.op import INTEGERS, SIGNED_32_64, Negative, OutOfRange


class OwnOperator(NamedTuple):
    """What an operator of a target does with an index k on an axis of size s."""

    title: str  # for people
    negative: Negative  # ``wrap`` if -s <= k < 0 counts from the end, else ``error``
    outside: OutOfRange  # the fate of any other index: ``zero`` or ``error``
    refuses: bool = True  # whether an error is promised; without, anything may come out
    refuses_negative: bool = True  # likewise of a negative index
    indices: tuple[DType, ...] = INTEGERS  # the types of indices that it takes
    index_bits: int = 64  # the bits of an index that it computes with
    takes_empty: bool = True  # whether it does the same with an axis of size 0
    batches: bool = True  # whether it has batch dimensions
    narrows: bool = True  # whether `data` may be larger than `indices` beside the axis
    lacks: tuple[DType, ...] = ()  # types of data that it does not take, beside those of the target
    note: str = ""  # what it does that it should not


class TranslationTarget(NamedTuple):
    """A framework that a call is translated to, with its operators of the families."""

    name: str  # the value of `--to`
    title: str  # for people
    suffix: str  # of what is written: ``.onnx``, ``.xml``, ``.py``
    runtimes: tuple[str, ...]  # that run it, as `--with` names them
    data: tuple[DType, ...]  # the types of data that it has
    gather: OwnOperator
    elements: OwnOperator
    tuples: OwnOperator
    tree: bool = False  # whether it has an operator for beams
    tree_lacks: tuple[DType, ...] = ()  # the types for which it has neither that nor steps
    raises: bool = True  # whether code can check indices before it uses them
    wide: bool = False  # whether arithmetic takes one type, so that indices are made int64 first
    unraised: str = ""  # where a check of code raises nothing, for people; empty if it always does
    notes: tuple[str, ...] = ()  # what holds for every program


def _types(names: str) -> tuple[DType, ...]:
    return tuple(map(dtype, names.split()))


def without(types: Iterable[DType], *left: DType) -> tuple[DType, ...]:
    """Return types but for those that are left out."""
    return tuple(each for each in types if each not in left)


_NUMPY_TYPES: Final = tuple(each for each in DTYPES if not each.opaque)
_NUMPY_INDICES: Final = without(INTEGERS, dtype("uint64"))
_LARGE_UNSIGNED: Final = _types("uint16 uint32 uint64")
_FRAMEWORK_TYPES: Final = without(PLAIN, STRING)
_WRAPPING_OPERATOR: Final = OwnOperator("", Negative.WRAP, OutOfRange.ERROR)
_FILLING_OPERATOR: Final = OwnOperator(
    "", Negative.WRAP, OutOfRange.ZERO, refuses=False, refuses_negative=False, narrows=False
)
_RAISING_OPERATOR: Final = OwnOperator("", Negative.ERROR, OutOfRange.ERROR)
_UNCHECKED_OPERATOR: Final = OwnOperator(
    "",
    Negative.ERROR,
    OutOfRange.ERROR,
    refuses=False,
    refuses_negative=False,
    indices=SIGNED_32_64,
    narrows=False,
)

_JAX_OPERATOR: Final = _FILLING_OPERATOR._replace(
    indices=SIGNED_32_64, index_bits=32, takes_empty=False
)

TRANSLATION_TARGETS: Final = (
    TranslationTarget(
        "onnx-13",
        "ONNX, opset 13",
        ".onnx",
        ("onnxruntime", "onnx.reference", "openvino"),
        PLAIN,
        gather=_WRAPPING_OPERATOR._replace(title="Gather-13", indices=SIGNED_32_64, batches=False),
        elements=_WRAPPING_OPERATOR._replace(title="GatherElements-13", indices=SIGNED_32_64),
        tuples=_WRAPPING_OPERATOR._replace(title="GatherND-13", indices=(INT64,)),
        tree_lacks=(BFLOAT16,),
        raises=False,
    ),
    TranslationTarget(
        "openvino-8",
        "OpenVINO, opset 8",
        ".xml",
        ("openvino",),
        tuple(ELEMENT_TYPES),
        gather=_FILLING_OPERATOR._replace(title="Gather-8"),
        elements=_RAISING_OPERATOR._replace(
            title="GatherElements-6", refuses_negative=False, indices=SIGNED_32_64, narrows=False
        ),
        tuples=_WRAPPING_OPERATOR._replace(title="GatherND-8", refuses=False),
        tree=True,
        raises=False,
    ),
    TranslationTarget(
        "torch",
        "PyTorch",
        ".py",
        ("torch",),
        _FRAMEWORK_TYPES,
        gather=_WRAPPING_OPERATOR._replace(title="x[i]", indices=(INT64,)),
        elements=_RAISING_OPERATOR._replace(
            title="torch.gather", indices=(INT64,), lacks=_LARGE_UNSIGNED
        ),
        tuples=_WRAPPING_OPERATOR._replace(title="x[i, j]", indices=(INT64,)),
        tree_lacks=_LARGE_UNSIGNED,
        notes=("PyTorch refuses no index where the slices have no elements",),
    ),
    TranslationTarget(
        "tensorflow",
        "TensorFlow",
        ".py",
        ("tensorflow",),
        PLAIN,
        gather=_UNCHECKED_OPERATOR._replace(title="tf.gather"),
        elements=_UNCHECKED_OPERATOR._replace(title="tf.gather"),
        tuples=_UNCHECKED_OPERATOR._replace(
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
        _FRAMEWORK_TYPES,
        gather=_JAX_OPERATOR._replace(title="jnp.take"),
        elements=_JAX_OPERATOR._replace(title="jnp.take_along_axis"),
        tuples=_JAX_OPERATOR._replace(title="x.at[i, j].get"),
        unraised="a function that jax.jit compiles raises no error: an illegal index gives zeros",
    ),
    TranslationTarget(
        "numpy",
        "NumPy",
        ".py",
        ("numpy",),
        _NUMPY_TYPES,
        gather=_WRAPPING_OPERATOR._replace(title="x[i]", indices=_NUMPY_INDICES),
        elements=_WRAPPING_OPERATOR._replace(
            title="np.take_along_axis", indices=_NUMPY_INDICES, narrows=False
        ),
        tuples=_WRAPPING_OPERATOR._replace(title="x[i, j]", indices=_NUMPY_INDICES),
    ),
)
TARGET_NAMES: Final = tuple(each.name for each in TRANSLATION_TARGETS)


def _framework(name: str) -> str:
    """Return the name of a target without its opset."""
    return name.partition("-")[0]


# The frameworks, each of which stands for the newest target it has, as with `--version`.
TARGET_FRAMEWORKS: Final = tuple(dict.fromkeys(_framework(name) for name in TARGET_NAMES))


def example(paths: Sequence[str]) -> str:
    """Return the name of the first target that fits the last of the files to write, if any."""
    fitting = (
        each.name for each in TRANSLATION_TARGETS if paths and paths[-1].endswith(each.suffix)
    )
    return next(fitting, TARGET_NAMES[0])


def target(name: str) -> TranslationTarget:
    """Return the target of a name, or the newest of a framework, the first of its rows."""
    return next(each for each in TRANSLATION_TARGETS if name in (each.name, _framework(each.name)))
