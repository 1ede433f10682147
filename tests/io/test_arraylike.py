"""Arguments of Python callers, arrays of other libraries, and arrays that take results."""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np
import pytest

import gathercli
from gathercli import GatherError, InputError, LimitError, UsageError, gather
from gathercli.io.arraylike import viewed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DATA: Final = np.arange(6, dtype=np.float32).reshape(3, 2)
BFLOAT: Final = DATA.astype(ml_dtypes.bfloat16)
TABLE: Final = np.arange(600, dtype="f4").reshape(20, 30)
INDICES: Final = np.array([[3, -1, 19], [0, 7, 7]])


class Exporter:
    """Shares its elements by DLPack alone."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Versioned(Exporter):
    """Shares by DLPack from 1.0 on, which can say that nobody may write."""

    def __dlpack__(self, **asked: Any) -> object:
        return self.array.__dlpack__(**asked)


class Bits(Exporter):
    """Shares integers as elements of another type: DLPack's code 4 is bfloat16."""

    code = 4

    def __dlpack__(self) -> object:
        capsule = super().__dlpack__()
        ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
        tensor = ctypes.pythonapi.PyCapsule_GetPointer(ctypes.py_object(capsule), b"dltensor")
        ctypes.c_uint8.from_address(tensor + ctypes.sizeof(ctypes.c_void_p) + 12).value = self.code
        return capsule


class Eighths(Bits):
    """Shares bytes as float8_e4m3fn, as DLPack calls it since 1.1."""

    code = 10


class Mute(Bits):
    """Has no numpy array of its type, as a tensor of torch in bfloat16."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise TypeError("Got unsupported ScalarType BFloat16")


class Graph:
    """A tensor in a graph of gradients, which must be detached from it."""

    requires_grad = True

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


class Conjugate:
    """A tensor of torch that is marked as conjugate, and its imaginary part as negative."""

    def __init__(self, inner: Any, *, negative: bool = False) -> None:
        self.inner, self.negative = inner, negative

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that has conjugate bit set.")

    def resolve_conj(self) -> Any:
        return self if self.negative else self.inner.conj()

    def resolve_neg(self) -> Any:
        return -self.inner


class Framed:
    """A frame, which knows how to be an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return self.array


SHARED: Final[dict[str, Callable[[Any], Any]]] = {
    "DLPack": Exporter,
    "__array__": Framed,
    "the buffer protocol": memoryview,
}


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_an_array_of_another_library_is_viewed_and_not_copied(share: Callable[[Any], Any]) -> None:
    tensor = viewed(share(DATA))

    assert np.shares_memory(tensor.array, DATA)
    assert tensor.array.tolist() == DATA.tolist()


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_an_array_of_another_library_is_gathered_explained_and_saved(
    share: Callable[[Any], Any], folder: Path
) -> None:
    pytest.importorskip("gathercli.explain")
    data, indices = share(DATA), share(np.array([2, 0]))

    out = gathercli.gather(data, indices)
    picked = gathercli.gather_elements(data, share(np.array([[1, 0]])), version="onnx-13")
    gathercli.save(folder / "x.npy", data)

    assert type(out) is np.ndarray
    assert out.tolist() == [[4, 5], [0, 1]]
    assert picked.tolist() == [[2, 1]]
    assert gathercli.explain("gather", data, indices).cell(0, 1).value == 5
    assert gathercli.load(folder / "x.npy").tolist() == DATA.tolist()


@pytest.mark.parametrize("share", [Bits, Mute], ids=["DLPack", "torch"])
def test_bfloat16_of_another_library_is_viewed_as_its_bits(share: Callable[[Any], Any]) -> None:
    bits = BFLOAT.view(np.uint16)

    tensor = viewed(share(bits))
    out = gathercli.gather(share(bits), [2])

    assert (tensor.dtype.name, tensor.array.tolist()) == ("bfloat16", bits.tolist())
    assert np.shares_memory(tensor.array, bits)
    assert (out.dtype, out.tolist()) == (ml_dtypes.bfloat16, [[4, 5]])


def test_a_tensor_that_is_marked_as_conjugate_or_negative_is_computed() -> None:
    conjugate = Conjugate(np.array([1 + 2j, 3 - 4j]))
    negative = Conjugate(np.array([1.0, 2.0]), negative=True)

    assert gathercli.gather(conjugate, [1]).tolist() == [3 + 4j]
    assert gathercli.gather([1, 2, 3], Conjugate(np.array([2, 0]))).tolist() == [3, 1]
    assert gathercli.gather(negative, [0]).tolist() == [-1]


def test_float8_of_another_library_is_viewed_as_its_bits() -> None:
    data = np.array([1, 448], np.float32).astype(ml_dtypes.float8_e4m3fn)

    out = gathercli.gather(Eighths(data.view(np.uint8)), [1])

    assert (out.dtype, out.tolist()) == (ml_dtypes.float8_e4m3fn, [448])


def test_a_transposed_array_of_another_library_keeps_its_order() -> None:
    assert gathercli.gather(Bits(BFLOAT.view(np.uint16).T), [1]).tolist() == [[1, 3, 5]]


def test_lists_hold_arrays_of_other_libraries() -> None:
    rows = [Exporter(row) for row in DATA]
    halves = [Mute(row) for row in BFLOAT.view(np.uint16)]

    index: Any = [Exporter(np.array(1, np.int8))]
    assert gathercli.gather(rows, index).dtype == np.float32
    assert gathercli.gather(halves, 2).tolist() == [4, 5]
    assert gathercli.gather(halves, 2).dtype == ml_dtypes.bfloat16


@pytest.mark.skipif(np.__version__.startswith("2.0."), reason="NumPy 2.0 exports no such array")
def test_an_array_that_cannot_be_written_to_is_viewed() -> None:
    fixed = DATA.copy()
    fixed.flags.writeable = False

    assert gathercli.gather(Versioned(fixed), 0).tolist() == [0, 1]


def test_arrays_of_the_standard_library_are_taken() -> None:
    assert gathercli.gather(array("i", [5, 6]), bytearray([1, 0])).tolist() == [6, 5]


def test_a_tensor_on_a_device_is_refused_before_it_is_read() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(Exporter(None, (2, 0)), 0)

    assert caught.value.rule == "dtype"
    assert caught.value.message == (
        "`data`: it is Exporter in the memory of a device: expected a tensor in that of the CPU"
    )


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("torch", "indices.cpu()"),
        ("jaxlib._jax", "jax.device_put(indices, jax.devices('cpu')[0])"),
        ("cupy", "indices.get()"),
    ],
)
def test_the_line_that_copies_a_tensor_to_the_cpu_is_that_of_its_library(
    package: str, line: str
) -> None:
    kind = type("Tensor", (Exporter,), {"__module__": package})

    with pytest.raises(InputError) as caught:
        gathercli.gather([1], kind(None, (2, 0)))

    assert caught.value.hint == f"`{line}` copies it there"


def test_a_tensor_that_requires_gradients_is_refused_with_the_line_that_detaches_it() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(Graph(), 0)

    assert caught.value.rule == "dtype"
    assert str(caught.value) == (
        "`data`: it is Graph that requires gradients, which no result has: expected a detached "
        "tensor\nhint: `data.detach()` shares its elements without them"
    )


def test_the_message_has_the_reason_of_the_library() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(Mute(None), 0)

    assert "numpy cannot read (Got unsupported ScalarType BFloat16)" in caught.value.message


class Namespaced(Exporter):
    """Of a library that keeps to the Python array API."""

    def __array_namespace__(self) -> type[Namespaced]:
        return Namespaced

    from_dlpack = classmethod(lambda cls, array: cls(array))


def test_a_library_of_the_array_api_gets_its_own_arrays() -> None:
    output = gathercli.gather(Namespaced(DATA), [2])

    assert type(output) is Namespaced
    assert output.array.tolist() == [[4, 5]]
    assert type(gathercli.gather(Namespaced(DATA), [2], like="numpy")) is np.ndarray


def test_a_library_that_results_cannot_have_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        gathercli.gather([1], [0], like="nump")

    assert caught.value.message == "`like` is `nump`: expected numpy, torch, jax or tensorflow"


def test_a_result_that_a_library_lacks_is_refused() -> None:
    torch = pytest.importorskip("torch")

    assert gathercli.gather([1, 2], [1], like="torch").dtype == torch.int64
    with pytest.raises(InputError, match="torch cannot hold string"):
        gathercli.gather(["a"], [0], like="torch")


def test_a_tensor_of_torch_comes_back_as_one() -> None:
    torch = pytest.importorskip("torch")
    data = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    out = torch.empty(1, 2)

    for _ in range(4):  # the first by the general way, the others by a plan
        output = gathercli.gather(data, torch.tensor([2]))
        assert type(output) is torch.Tensor
        assert output.tolist() == [[4, 5]]
        assert gathercli.gather(data, [0], out=out) is out
        assert out.tolist() == [[0, 1]]
    assert type(gathercli.gather(data, [2], like="numpy")) is np.ndarray
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        few = data.to(getattr(torch, name))
        held = torch.empty(1, 2, dtype=few.dtype)
        for _ in range(3):
            output = gathercli.gather(few, [2])
            assert output.dtype == few.dtype
            assert output.view(torch.uint8).equal(few[2:].view(torch.uint8))
        assert gathercli.gather(few, [2], out=held) is held
        assert held.view(torch.uint8).equal(few[2:].view(torch.uint8))
    held = torch.nn.Parameter(torch.empty(1, 2), requires_grad=False)
    assert gathercli.gather(torch.nn.Parameter(data, requires_grad=False), [1], out=held) is held
    assert held.tolist() == [[2, 3]]
    with pytest.raises(InputError, match=r"`data.detach\(\)`"):
        gathercli.gather(data.requires_grad_(), [0])


def test_a_tensor_of_jax_comes_back_as_one() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", False)  # other tests run programs that set it

    for name in ("float32", "int32", "bool", "bfloat16", "float8_e4m3fn"):
        data = jax.numpy.arange(6).reshape(3, 2).astype(name)
        output = gathercli.gather(data, jax.numpy.array([2]))
        assert isinstance(output, jax.Array)
        assert output.dtype == data.dtype
        assert (output == data[2:]).all()
    with pytest.raises(InputError, match="jax cannot hold float64"):
        gathercli.gather([1.0], [0], like="jax")


def test_a_tensor_of_tensorflow_comes_back_as_one() -> None:
    tensorflow = pytest.importorskip("tensorflow")

    for name in ("float32", "int64", "bool", "bfloat16", "complex64"):
        data = tensorflow.cast(tensorflow.constant([[0, 1], [2, 3]]), name)
        output = gathercli.gather(data, tensorflow.constant([1]))
        assert isinstance(output, tensorflow.Tensor)
        assert output.dtype == data.dtype
        assert (output.numpy() == data.numpy()[1:]).all()


def test_an_empty_list_picks_nothing() -> None:
    assert gather([1, 2, 3], []).shape == (0,)
    assert gather([], []).dtype == np.float64


def test_numpy_values_in_a_list_bring_their_type() -> None:
    assert gather([np.float32(0.1)], [0]).dtype == np.float32
    assert gather([1, 2], [np.uint8(1)]).tolist() == [2]
    assert gather([np.array([1, 2]), np.array([3, 4])], [1]).tolist() == [[3, 4]]


def test_arrays_and_lists_stand_side_by_side() -> None:
    assert gather([np.array([1, 2]), [3, 4]], [0]).tolist() == [[1, 2]]


def test_a_list_that_holds_itself_is_too_deep() -> None:
    one: list[Any] = []
    one.append(one)
    two: list[Any] = []
    two += [two, two]

    for nested in (one, two):
        with pytest.raises(LimitError) as caught:
            gathercli.gather(nested, 0)

        assert caught.value.message == (
            "`data`: the list at `$` is nested deeper than 64: expected rank at most 64"
        )


def test_what_is_no_element_is_named_by_its_type() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1, object()], 0)

    assert caught.value.message == (
        "`data`: the value at `$[1]` is of type `object`: "
        "expected a number, a boolean, a string or a list"
    )


def test_a_refused_argument_is_named() -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather([1], [2**64])
    assert str(caught.value).startswith("`indices`: the value at `$[0]` is 18446744073709551616")


@pytest.mark.parametrize("name", ["float32", "bfloat16", ">f4"])
def test_an_array_of_ones_own_takes_the_result(name: str) -> None:
    held = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    data = TABLE.astype(held)
    out = np.empty((2, 3, 30), held.newbyteorder("="))
    assert gathercli.gather(data, INDICES, out=out) is out
    np.testing.assert_array_equal(out, data[INDICES])
    elements = np.empty((1, 30), held.newbyteorder("="))
    at = np.full((1, 30), 2)
    gathercli.gather_elements(data, at, axis=0, version="onnx-13", out=elements, threads=2)
    np.testing.assert_array_equal(elements, data[2:3])


@pytest.mark.parametrize(
    ("out", "why", "expected"),
    [
        ([1.0], "is of type `list`", "a NumPy array, f32[3]"),
        (np.empty(3, "f8"), "is f64[3]", "f32[3]"),
        (np.empty(2, "f4"), "is f32[2]", "f32[3]"),
        (np.empty(3, ">f4"), "is of >f4", "<f4, in native byte order"),
        (np.empty(6, "f4")[::2], "is not C-ordered", "a C-ordered array"),
        (np.frombuffer(bytes(12), "f4"), "cannot be written to", "a writable array"),
        (np.ma.zeros(3, "f4"), "is of type `MaskedArray`", "a NumPy array, f32[3]"),
    ],
)
def test_an_array_that_cannot_take_the_result_is_refused(out: Any, why: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        gathercli.gather(np.ones(5, "f4"), [0, 1, 2], out=out)

    assert str(caught.value) == f"`out` {why}: expected {expected}"


@pytest.mark.parametrize("threads", [0, -3, 1.5, "x", True])
def test_a_number_of_threads_is_checked_in_python_too(threads: Any) -> None:
    with pytest.raises(GatherError, match="expected an integer from 1 on"):
        gathercli.gather([1], [0], threads=threads)


def test_an_array_that_is_wider_than_memory_is_not_copied() -> None:
    wide = np.broadcast_to(np.float32(7), (10**6, 10**6))
    assert gathercli.gather_elements(wide, [[3]], axis=0, version="onnx-13").tolist() == [[7.0]]
    assert gathercli.gather(wide, [5], axis=1)[:3].tolist() == [[7.0]] * 3
    with pytest.raises(GatherError, match="not enough memory"):
        gathercli.gather(np.broadcast_to(np.arange(2.0)[::-1], (10**12, 2)), [0])


def test_an_input_does_not_take_the_result() -> None:
    data = np.ones(5, "f4")
    with pytest.raises(GatherError, match="shares memory"):
        gathercli.gather(data, [0, 1, 2], out=data[:3])
