"""``python -m campaigns.libraries 3000``: random calls on tensors of the libraries at hand.

Each is answered, or refused, as the first call of its kind on arrays of NumPy is: the same bits,
the same message. What is not installed is left out.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gathercli import GatherError
from gathercli.compute import native
from tests.compute.test_native import Trial, beams_trial, trial

if TYPE_CHECKING:
    from collections.abc import Callable


def _torch(array: Any) -> Any:
    return import_module("torch").from_numpy(array)


def _jax(array: Any) -> Any:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


def _tensorflow(array: Any) -> Any:
    return import_module("tensorflow").convert_to_tensor(array)


LIBRARIES: Final[dict[str, Callable[[Any], Any]]] = {
    "numpy": lambda array: array,
    "memoryview": memoryview,
    "lists": lambda array: array.tolist(),
    "torch": _torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
}


def answer(call: Trial) -> tuple[type, tuple[int, ...], bytes] | str:
    """Return the type of the output, its shape and bytes; or the message of the refusal."""
    try:
        output = call.gather(*call.inputs, **call.options)
    except GatherError as error:
        return f"{type(error).__name__} {error}"
    array = np.asarray(output)
    return type(output), array.shape, array.tobytes()


def made(library: str, choose: random.Random) -> Trial | None:
    """Return a call on arrays that a library can have; None for one that would say less as lists.

    Nothing is left of the shape of an empty list, nor of any type but int64 and float64.
    """
    is_tree = choose.random() < 0.1
    call = beams_trial(choose) if is_tree else trial(choose)
    if library == "numpy":
        return call
    arrays = [np.ascontiguousarray(each, each.dtype.newbyteorder("=")) for each in call.inputs]
    if not is_tree:
        values = np.arange(arrays[0].size).reshape(arrays[0].shape) % 99
        types = ("i8", "f8") if library == "lists" else ("i1", "u1", "i4", "i8", "f2", "f4", "f8")
        arrays[0] = values.astype(choose.choice(types))
    if library == "lists":
        if not all(each.size for each in arrays) or not np.isfinite(arrays[0]).all():
            return None
        with np.errstate(invalid="ignore"):
            arrays[1:] = [each.astype("i8") for each in arrays[1:]]
        arrays[0] = arrays[0].astype("i8" if is_tree else arrays[0].dtype)
    return call._replace(inputs=tuple(arrays))


def differences(library: str, number: int, seed: int = 0) -> list[Trial]:
    """Return the calls of so many that a library has otherwise than NumPy the first time."""
    choose, wrong = random.Random(seed), list[Trial]()  # noqa: S311
    for _ in range(number):
        wanted = made(library, choose)
        if wanted is None:
            continue
        given = wanted._replace(inputs=tuple(map(LIBRARIES[library], wanted.inputs)))
        native._plans.clear()
        expected = answer(wanted)
        kind = np.ndarray if library in ("numpy", "memoryview", "lists") else type(given.inputs[0])
        if not isinstance(expected, str):
            expected = kind, *expected[1:]
        if any(answer(given) != expected for _ in range(4)):
            wrong.append(given)
    return wrong


def main() -> None:
    """Compare so many calls in each library."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    failed = False
    for library in LIBRARIES:
        if library in ("torch", "jax", "tensorflow") and not find_spec(library):
            continue
        wrong = differences(library, number)
        failed |= bool(wrong)
        print(f"{library}: {number} calls, {len(wrong)} differ", *wrong[:1], flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
