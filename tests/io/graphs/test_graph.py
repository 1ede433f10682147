"""Elements in another file than their tensor."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import pytest
from onnx import TensorProto

from tests.io.formats.test_safetensorsfile import assert_one_error
from tests.io.graphs.test_tensorproto import message

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run


def test_a_name_that_is_no_utf_8_is_one_like_those_of_the_command_line(
    run: Run, folder: Path
) -> None:
    raw = message(data_type=3, dims=[2], name="AB", raw_data=b"\1\2")
    (folder / "x.pb").write_bytes(raw.replace(b"AB", b"\xff\xfe"))

    assert run("convert", "x.pb", "x.npy") == (0, "", "")

    assert run("gather", os.fsdecode(b"x.pb#\xff\xfe"), "1,0").out == "[2,1]\n"
    assert run("info", "x.pb").out.startswith("x.pb#\\xff\\xfe   pb   ")
    assert json.loads(run("info", "x.pb", "-f", "json").out)["name"] == "\udcff\udcfe"
    assert '"name":"\\udcff\\udcfe"' in run("convert", "x.pb", "-", "--to", "oip").out
    assert run("convert", "x.pb#x", "-") == (
        65,
        "",
        "error: x.pb: the file holds one tensor, `\\xff\\xfe`, and no `x`: expected no key\n"
        "rule: format\n",
    )
    for fmt in ("npz", "pb", "safetensors"):
        assert run("convert", "x.pb", "-", "--to", fmt) == (
            65,
            "",
            "error: the name `\\xff\\xfe` is, or has, what is not UTF-8: "
            f"expected one that {fmt} can keep\nrule: format\n",
        )


CONVERTED: Final = (
    'hint: `python -c \'import numpy, onnx; numpy.save("x.npy", onnx.numpy_helper.to_array('
    'onnx.load_tensor("x.pb"), "."))\'` writes `x.npy`\n'
)


@pytest.mark.parametrize("raw_data", [None, b"\1\0\2\0"])
@pytest.mark.parametrize("location", ["secret", "./secret", "/etc/passwd", "", "../x", "a\0b"])
@pytest.mark.parametrize("marked", [True, False])
def test_elements_in_another_file_are_refused(
    marked: bool, location: str, raw_data: bytes | None, run: Run, folder: Path
) -> None:
    (folder / "secret").write_bytes(b"\1\0\2\0")
    proto = TensorProto(dims=[2], data_type=TensorProto.INT16)
    for key, value in (("location", location), ("offset", "0"), ("length", "4")):
        proto.external_data.add(key=key, value=value)
    if marked:
        proto.data_location = TensorProto.EXTERNAL
    if raw_data:
        proto.raw_data = raw_data
    (folder / "x.pb").write_bytes(proto.SerializeToString())
    for command in ("convert", "info"):
        assert run(command, "x.pb", *["-"][: command == "convert"]) == (
            65,
            "",
            "error: x.pb: the tensor keeps its elements in another file, which is never opened: "
            "expected elements in the file itself\n"
            f"{CONVERTED if marked else ''}rule: format\n",
        )


def test_the_other_file_is_never_opened(run: Run, folder: Path) -> None:
    os.mkfifo(folder / "secret")
    keeper = os.open(folder / "secret", os.O_RDWR | os.O_NONBLOCK)
    os.write(keeper, b"\1\0\2\0")
    proto = TensorProto(dims=[2], data_type=TensorProto.INT16)
    proto.data_location = TensorProto.EXTERNAL
    proto.external_data.add(key="location", value="secret")
    (folder / "x.pb").write_bytes(proto.SerializeToString())
    commands = (("gather", "x.pb", "0"), ("info", "x.pb"), ("convert", "x.pb", "y.npy"))
    try:
        assert [run(*words).status for words in commands] == [65, 65, 65]
        assert os.read(keeper, 9) == b"\1\0\2\0"
    finally:
        os.close(keeper)


def test_a_location_without_entries_is_elsewhere_too(run: Run) -> None:
    raw = message(data_location=TensorProto.EXTERNAL)
    assert "in another file" in assert_one_error(run("convert", "-", "-", stdin=raw))
