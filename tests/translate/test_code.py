"""Code: readable, and of one framework alone."""

from __future__ import annotations

import ast

import pytest

from tests.translate.pairs import PAIRS, Pair, name, translation_of

CODE = [pair for pair in PAIRS if not pair.target.endswith(("13", "8"))]
MODULES = {
    "numpy": {"numpy"},
    "torch": {"torch"},
    "jax": {"jax", "jax.numpy"},
    "tensorflow": {"tensorflow"},
    "tflite": {"tensorflow"},
}


@pytest.mark.parametrize("pair", CODE, ids=name)
def test_a_module_is_python_and_imports_its_framework_alone(pair: Pair) -> None:
    text = translation_of(pair.version, pair.tensors, pair.target, **pair.options).text

    tree = ast.parse(text)

    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported == MODULES[pair.target]
    assert ast.get_docstring(tree)
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert ast.get_docstring(function)


@pytest.mark.parametrize(
    ("to", "last"), [("numpy", "return data[:, indices]"), ("torch", "return data[:, indices]")]
)
def test_a_call_that_a_framework_has_is_one_line(to: str, last: str) -> None:
    text = translation_of("onnx.Gather-13", "2x3xf32=0; 2x2xi64=0", to, axis=1).text

    assert text.splitlines()[-1] == f"    {last}"


def test_the_first_line_has_the_types_of_indices_and_the_ranks() -> None:
    text = translation_of("openvino.Gather-8", "2x3xf32=0; 4xi8=0", "numpy").text

    about = (
        '"""openvino.Gather-8, axis 0, batch_dims 0: data of rank 2 and int8 indices of rank 1."""'
    )
    assert text.splitlines()[0] == about


def test_batches_are_coordinates_in_front() -> None:
    translation = translation_of(
        "onnx.GatherND-13", "2x3x4xf32=0; 2x5x1xi64=0", "numpy", batch_dims=1
    )

    assert translation.text.splitlines()[-2:] == [
        "    p = np.arange(data.shape[0])[:, None]",
        "    return data[p, indices[..., 0]]",
    ]


def test_a_refusal_is_an_error_of_python() -> None:
    text = translation_of("onnx.Gather-1", "2x3xf32=0; 2xi64=0", "numpy").text

    assert text.endswith(
        "    if (indices < 0).any():\n"
        '        raise IndexError("an index is negative")\n'
        "    return data[indices]\n"
    )


def test_jax_gets_64_bits_only_where_values_have_them() -> None:
    narrow = translation_of("openvino.Gather-8", "2xf32=0; 2xi32=0", "jax").text
    wide = translation_of("openvino.Gather-8", "2xf32=0; 2xi64=0", "jax").text

    assert "jax_enable_x64" not in narrow
    assert "jax_enable_x64" in wide
