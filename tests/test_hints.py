"""Every hint is followed as it is printed: its backquoted words are a line, or change the call."""

from __future__ import annotations

import ast
import gzip
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pytest

from man.pages import page
from tests.tensorfiles import archive, saved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Ran, Run

PROGRAMS: Final = ("gathercli ", "python ", "zcat ")
JOB: Final = '{"id":"a","op":"gather","data":[1,2],"indices":[1],'


class Wrong(NamedTuple):
    """A wrong call whose hint is followed.

    Attributes
    ----------
    words
        What follows `gathercli`.
    place
        Which of the words is replaced by what the hint says in its place.
    stdin
        What is on standard input.
    names
        What stands in backquotes and is a name, to be read only.
    """

    words: str
    place: int | None = None
    stdin: bytes = b""
    names: tuple[str, ...] = ()


CALLS: Final = (
    Wrong("diagnose gather 1,2,3 0,5"),
    # Names that are nearly right
    Wrong("gathr 1,2 0"),
    Wrong("gather a_b.npy 0", 1),
    Wrong("gather in/aa.npy 0", 1),
    Wrong("gather arnge:2x2 0", 1),
    Wrong("gather rand:3xi8 0", 1),
    Wrong("gather x.npz 0", 1),
    Wrong("gather x.npz#bb 0", 1),
    Wrong("gather-nd pair.npz#data pair.npz", 2),
    Wrong("gather m.json#bb 0", 1),
    Wrong("gather m.safetensors 0", 1),
    Wrong("gather x.npy#a 0", 1),
    Wrong("gather l.json#a 0", 1),
    Wrong("gather - 0", 1, b'{"a":[1],"b":[2]}'),
    Wrong("gather - 0", 1, b'{"data":[1],"indices":[0]}', names=("-#data -#indices",)),
    Wrong("gather - -", names=("-#data", "-#indices")),
    Wrong("gather - 0", stdin=b"0,x", names=("0,1,2", "0 1 2")),
    Wrong("gather -", stdin=b'{"data":[1,2],"indices":[0]}'),
    Wrong("gather - 0", 1, b"0 1\n2 3"),
    Wrong("gather - 0", 1, b"x.npy\n", names=("-",)),
    Wrong("gather - 0", 1, b"x.npz#a\n", names=("-",)),
    Wrong("gather in 0", 1, names=("in/*.npy",)),
    Wrong("info in", 1),
    Wrong("info one", 1),
    Wrong("info empty", names=("zarr.json", ".zarray", ".zgroup")),
    Wrong("explain --job jobs.jsonl#aa", 2),
    Wrong("gather model.onnx", 1),
    Wrong("gather model.onnx#frst", 1),
    Wrong("gather model.onnx#second"),
    Wrong("gather model.onnx#second --feed indice=0", names=("--feed indices=0",)),
    Wrong("gather-nd model.onnx#first", 0),
    Wrong("check model.onnx#first --to xla", 1),
    Wrong("gather model.onnx#ww 0", 1),
    Wrong("gather beside.onnx#t 0"),
    Wrong("gather-nd model.onnx#first --feed 0", 0, names=("gather",)),
    Wrong("gather model.onnx#first --feed ii=0", names=("--feed i=0",)),
    Wrong("check model.onnx#first --to openvino", names=("model.onnx",)),
    Wrong("batch model.onnx#first x.npy", names=("--feed 'ids/*.npy'",)),
    Wrong(
        "reproduce gather-tree '[[[1,2]],[[3,4]]]' '[[[0,0]],[[1,0]]]' '[2]' 9 --for onnx -o out"
    ),
    Wrong("translate gather 1,2 0, --to numpi"),
    Wrong("translate gather 1,2 0,"),
    Wrong("reproduce gather 1,2 0, --for numpy"),
    Wrong("reproduce gather 1,2 0,"),
    Wrong("reproduce gather 1,2 0, --for tf -o out", names=("tensorflow",)),
    Wrong("demo --all --answer", names=("?",)),
    Wrong("demo 2 3"),
    Wrong("demo batch dims"),
    Wrong("demo all"),
    Wrong("ops Gather-8"),
    Wrong("gather 4x3 0", 1),
    Wrong("translate gather 1,2 0, --to numpy -o x.xml"),
    Wrong("""translate gather '["a"]' 0, --to torch"""),
    Wrong("translate gather 1,2 1xu64=0 --out-of-range wrap --to numpy"),
    Wrong("translate gather 2xint2=0,1 0, --to numpy"),
    # Indices of a type that the version refuses
    Wrong("gather 1,2 1xu8=0 -V onnx-13"),
    Wrong("gather 1,2 1xu64=0 -V onnx-13"),
    Wrong("gather-elements 1,2 1xu64=0 -V onnx-13"),
    Wrong("gather-nd 1,2 1x1xu64=0 -V onnx-13"),
    Wrong("gather-elements 1,2 1xu64=0 -V onnx-13 -f pretty"),
    Wrong("gather-elements 1,2 1xu64=0 -a 0 -V torch.gather"),
    Wrong("gather 1,2 1xu64=0 -a 0 -V coreml.gather-ios15"),
    Wrong("check gather-elements 1,2 1xu64=0 -V onnx-13"),
    Wrong("explain gather-elements 1,2 1xu64=0 -V onnx-13"),
    Wrong("shape gather-elements [[1,2]] 1x1xu64=0 -V onnx-13"),
    Wrong("translate gather-elements 1,2 1xu64=0 -V onnx-13 --to torch"),
    Wrong("translate gather-nd zeros:2x3x1x0 2x3x0x1xi64= -V openvino-5 -b 2 --to onnx-13"),
    Wrong("explain --job shape.jsonl", names=("gathercli shape",)),
    Wrong("gather-nd arange:3x2 0", 2),
    Wrong("ops --diff openvino-8 gather-7", 3),
    Wrong(
        "batch --op gather --data 1,2 --indices 'idx/*.npy'",
        names=("--indices 'idx/{stem}.npy'", "--data"),
    ),
    Wrong(
        "batch --op gather --data 1,2 --indices 0, -V onnx-11,onnx-13",
        names=("--matrix version=onnx-11,onnx-13",),
    ),
    Wrong("demo gather-"),
    Wrong("man index-range"),
    Wrong("info arange:2x3x12 --heat --window :,:,:"),
    Wrong("info x.npz --save i.svg", 1),
    Wrong("demo 21"),
    Wrong("ops --like gather_tree"),
    Wrong("ops --like gather_nd"),
    Wrong("ops --like tf.raw_ops.GatherTree"),
    Wrong("ops --like tf.contrib.seq2seq.gather_tree"),
    Wrong("ops --like aten.index"),
    Wrong("ops --like onnx.GatherND"),
    Wrong("gather-nd arange:2x2 [[1]] -V torch-2"),
    Wrong("ops --diff a openvino-8"),
    Wrong("ops --diff openvino-8"),
    Wrong("gather-tree arange:2x1x2 zeros:2x1x2xi64 [1] 9 -V onnx"),
    Wrong("gather-tree arange:2x1x2 zeros:2x1x2xi64 [1] 9 -V onnx-1.16"),
    Wrong("gather 1,2 [[0]] -V GatherND-5"),
    Wrong("gather_nd [1] 0,"),
    Wrong("GatherTree arange:2x1x2 zeros:2x1x2xi64 [1] 9"),
    Wrong("gather-nd [1] [[0]] -b 0 -V onnx-10"),
    Wrong("gather-nd arange:1x3 [[[0]]] -b 1 -V onnx-11"),
    Wrong("gather-nd [1] 1x0xi64= -V onnx-13"),
    Wrong("gather-nd [1] 1x1xi32=0 -V onnx-13"),
    Wrong("gather-nd [1] [[-1]] -V openvino-5"),
    Wrong("gather-nd [1] [[1]]", names=("clamp", "wrap")),
    Wrong("gather-tree 2x1x1xi32=1 2x1x1xi64=0 [2] 9"),
    Wrong("gather-nd arange:2x2 1,1,1", 2),
    Wrong("gather-nd arange:5 -", 2, b"0\n1\n2\n3\n"),
    Wrong("explain gather-nd arange:5 0,-1", 3, names=("gathercli gather",)),
    Wrong(
        "explain gather arange:20x20 0,1,2,3,4,5 --window :,: --save 's-{n}.svg'",
        names=("--window",),
    ),
    Wrong("gather-nd arange:5 zeros:30xi64"),
    Wrong("gather-nd [[0,1],[1,1]] arange:2x2xf32"),
    Wrong("gather-nd [[0,1],[1,1]] 2x2xf32=0 1 1 1", 2),
    Wrong("gather-nd [[0,1],[1,1]] 2x2xf32=0.5"),
    Wrong("gather-tree 2x1x2xi32=1 2x1x2xi64=0 1xi64=2 xi64=9"),
    Wrong("gather-tree 2x1x2xi64=1 2x1x2xf32=1 1xf32=2 xi64=9"),
    Wrong("gather-tree [[[1.0,2]],[[3,4]]] [[[0,0]],[[1,0]]] [2] 9"),
    Wrong("gather-tree arange:2x1x2 zeros:2x1x2xi64 9 [2]"),
    Wrong("check gather-tree arange:2x1x2 zeros:2x1x2xi64 9 [2]"),
    Wrong("gather-tree arange:2x3x2 zeros:2x3x2xi64 2 9", 3),
    Wrong("gather-tree arange:2x1x2 zeros:2x1x2xi64 [[2]] 9", 3),
    Wrong("gather-tree arange:2x1x2 zeros:2x1x2xi64 [2] [9]", 4),
    Wrong("gather-tree [[1,2],[3,4]] zeros:2x1x2xi64 [2] 9", 1),
    Wrong("gather-tree arange:2x1x2 [[0,0],[1,0]] [2] 9", 2),
    Wrong("gather-tree [[[1]],[[1]]] [[[0]],[[1]]] [2] 9", names=("clamp", "wrap")),
    Wrong("gather-tree [[[1]],[[1]]] [[[0]],[[-1]]] [2] 9", names=("clamp", "wrap")),
    Wrong("gather-nd pair.npz"),
    Wrong("gather-nd -", stdin=b'{"data":[1,2],"indices":[[0]]}'),
    Wrong("gather-tree tree.json#step_ids"),
    Wrong("check gather-tree tree.json"),
    Wrong("explain gather-tree", names=("--job FILE#ID",)),
    Wrong("explain gather-nd 1,2", names=("--job FILE#ID",)),
    Wrong("check gather-tree 1 2"),
    Wrong("shape gather-elements 2"),
    Wrong("gather-tree 2x1x1xi64=1 --end-token 9 --parent-ids=2x1x1xi64=0 --max-seq-len [2] -q"),
    Wrong("explain gather-nd --data 1,2 --indices 1, -q"),
    Wrong("gather-elements --data 1,2"),
    Wrong("compare arange:2x1x2 zeros:2x1x2xi64 [1] 9"),
    Wrong("gather 1,2 0 -a 0 -V torch-2"),
    Wrong("translate gather arange:2x2 3 -V numpy.take --to numpy"),
    Wrong("gather 1,2 0 -V numpi"),
    Wrong("gather 1,2 0, -V torch.gather"),
    Wrong("gather 1,2 -1 -a 0 -V torch"),
    Wrong("gather 1,2 9 -a 0 -V torch", names=("clamp", "wrap")),
    Wrong("ops torch.gahter"),
    Wrong("gather eye:2x2 0", 1),
    Wrong("gather '[[1,2],[3,4]' 0", 1),
    Wrong("gather '[1,2]]' 0", 1),
    Wrong("gather 1,2] 0", 1),
    Wrong("gather '{\"a\":[1,2' 0", 1),
    Wrong("gather"),
    Wrong("xyzzy"),
    Wrong("help gather x"),
    Wrong("help formats"),
    Wrong("gather 1,2 -1 --neg wrap"),
    Wrong("gather long.npz#emb 0", 1),
    Wrong("torch.gather 1,2 0,"),
    Wrong("openvino.Gather-7 1,2 0"),
    Wrong("explain openvino.Gather-7 1,2 0"),
    Wrong("-v"),
    Wrong("gather 1,2 0 -axis 0"),
    Wrong("gather 1,2 0 --dim 0"),
    Wrong("gather [1, 2, 3] [0, 1]"),
    Wrong("gather 1,2,3 '[0.0,1.0]'", 2),
    Wrong("gather 1,2,3 '[true,false,true]'", 2),
    Wrong("gather 1,2,3 3xbool=true", 2),
    Wrong("gather 1,2,3 '[[true],[false]]'"),
    Wrong("gather 1,2 3x4xf32=1.5 -V onnx-13"),
    Wrong("explain gather 0,1 arange:2x5xf32 --axis 0"),
    Wrong("shape gather --axis 0 0,1 arange:2x5xf32"),
    Wrong("gather --version", names=("--version",)),
    Wrong("--version 8", names=("gather … -V onnx-13",)),
    Wrong("gather 1,2 0 --data-dtype flot32", 4),
    Wrong("gather 1,2 0 -V openvin-8"),
    Wrong("gather 1,2 0 -V 99"),
    Wrong("ops 99"),
    Wrong("gather 1,2 0 -V onnx-1.13"),
    Wrong("gather 1,2 0 -V openvino-2024.1"),
    Wrong("explain gather 1,2 0 --save x.gif"),
    Wrong("gather 1,2 0 -V ''"),
    Wrong("ops onnx.Gathr-11"),
    Wrong("ops --like torch.gahter"),
    Wrong("man gathr"),
    Wrong("demo gathr"),
    # What an operator refuses
    Wrong("gather 1,2 9 -V openvino-7"),
    Wrong("gather 1,2 -1 -V openvino-1"),
    Wrong("gather 1,2 -1 -V onnx-1"),
    Wrong("gather 1,2 9 -V onnx-13", names=("clamp", "wrap")),
    Wrong("gather 0xi8= 0 --out-of-range clamp"),
    Wrong("gather 0xi8= 0 -V onnx-13"),
    Wrong("gather-elements 0xi8= 1xi64=0 -a 0 -V onnx-13"),
    Wrong("gather-elements 1,2 9, -a 0 -V onnx-13", names=("clamp", "wrap")),
    Wrong("gather 3 0", 1),
    Wrong("gather 2x2xi64=0 0 -a 2"),
    Wrong("gather 2x2xi64=0 2x1xi64=0 -b 1 -a 0"),
    Wrong("gather 2x2xi64=0 2x1xi64=0 -b 1 -a 1 -V onnx-13"),
    Wrong("gather 1xbf16=1 0 -V onnx-11"),
    Wrong("gather 1,2 1xi8=0 -V onnx-13"),
    Wrong("gather 1,2 1xf32=0 ", 2),
    Wrong("gather arange:2x2 21xf32=1"),
    Wrong("gather-elements 1,2 1 -a 0", 2),
    Wrong("gather-elements 1,2 1,"),
    Wrong("gather-elements 2x2xi64=0 1xi64=0 -a 0"),
    # Options
    Wrong("gather 1,2 0 -o x.foo", 4),
    Wrong("gather 1,2 0 -o x.np", 4),
    Wrong("gather 1,2 0 -o 'no folder/x.npy'", names=("mkdir -p 'no folder'",)),
    Wrong("gather 1,2 0 -o none/x.zarr", names=("mkdir -p none",)),
    Wrong("gather 1,2 0 -o new.npy -f json"),
    Wrong("gather arange:2x2 0,1 --chunks x -o o.zarr"),
    Wrong("gather 1,2 0,1 --max-bytes 8"),
    Wrong("gather arange:99 0 --max-bytes 8"),
    Wrong("gather 1,2 0 --max-bytes x"),
    Wrong("gather 1,2 0 --no-such"),
    Wrong("shape gather [2,x-y] 3", names=("[2,?,1..5,N]", "[...]")),
    Wrong("compare 1,2 0 --ops ,"),
    Wrong("explain", names=("--job FILE#ID",)),
    # Batches
    Wrong("batch"),
    Wrong("batch --op gather --data in/*.npy x.npy --indices 0", names=("--data 'in/*.npy'",)),
    Wrong("batch --op gather --data in --indices 0"),
    Wrong("batch x.npy", names=("--op gather --data 'in/*.npy' --indices …",)),
    Wrong("batch jobs.jsonl --max-failures x"),
    Wrong("batch jobs.jsonl --resume"),
    Wrong("batch out.jsonl"),
    Wrong("batch typo.jsonl"),
    # Conversions
    Wrong("convert"),
    Wrong("convert x.npy c.foo", 2),
    Wrong("convert x.npy c.safetensor", 2),
    Wrong("convert x.npy c", 2),
    Wrong("convert x.npy"),
    Wrong("convert x.npy --to safetensors"),
    Wrong("convert x.npz#a"),
    Wrong("convert in"),
    Wrong("convert in/a.npy in/b.npy"),
    Wrong("convert in/a.npy in/b.npy --to npy"),
    Wrong("convert in/a.npy in/b.npy --to safetensors"),
    Wrong("convert x.npy in/a.npy in/b.npy"),
    Wrong("convert x.npy l.json m.safetensors", 3),
    Wrong("convert x.npy l.json c.npy", 3),
    Wrong("convert x.npy new/"),
    Wrong("convert 1,2 -d new --to npy", names=("gathercli convert TENSOR FILE",)),
    Wrong("convert x.npy c.json --to npy"),
    Wrong("convert 1.5, - --dtype i8"),
    Wrong("convert 0.1, - --dtype f32"),
    Wrong("convert '[0.5,70000]' - --dtype bf16"),
    Wrong("convert '[-0.6]' - --dtype u8 --lossy"),
    Wrong("convert 1.5, - --dtype f16 --truncate", 5),
    Wrong("convert '[true]' - --dtype i8"),
    Wrong("convert slash.npz -d new --to npy"),
    # Files that are not read
    Wrong("info p.pkl"),
    Wrong("info d.pkl"),
    Wrong("info c.csv"),
    Wrong("info c.tsv"),
    Wrong("info c.yaml"),
    Wrong("info t.parquet"),
    Wrong("info rows.txt", 1),
    Wrong("gather 5,6,7 rows.txt", 2),
    Wrong("gather 5,6,7 'list of 3.txt'", 2),
    Wrong("gather 'x.npy[0]' 1", 1),
    Wrong("gather x.npy:a 1", 1),
    Wrong("gather bytes.bin:3xi8 1", 1),
    Wrong("info heading.csv"),
    Wrong("info words.csv"),
    Wrong("info holes.csv"),
    Wrong("info semicolons.csv"),
    Wrong("info quoted.csv"),
    Wrong("info " + '"it\'s a.csv"'),
    Wrong("info table.txt"),
    Wrong("info -", stdin=b"x,y\n1,2\n"),
    Wrong("info elsewhere.pb"),
    Wrong("info state.pt"),
    Wrong("info tensor.pt"),
    Wrong("info old.pt"),
    Wrong("info script.pt"),
    Wrong("info m.pt#w"),
    Wrong("info x.h5"),
    Wrong("gather x.json.gz 0", 1, names=("-",)),
    Wrong("gather - 0", 1, gzip.compress(b"[1,2,3]", mtime=0)),
    Wrong("gather bytes.bin 0", 1),
    Wrong("gather bin:2xi8@bytes.bin 0", 1),
    Wrong("info v.npy"),
)

TORCH: Final = '''
"""A stand-in for PyTorch: what its `load` returns for the files of these tests."""

import numpy

bfloat16 = "bfloat16"


class Tensor:
    def __init__(self, values, dtype="float32"):
        self.values, self.dtype = numpy.array(values, "float32"), dtype

    def float(self):
        return Tensor(self.values)

    def numpy(self, *, force):
        assert force and self.dtype != bfloat16
        return self.values


def is_tensor(value):
    return isinstance(value, Tensor)


def load(source, map_location, weights_only):
    assert (map_location, weights_only) == ("cpu", True)
    if source == "tensor.pt":
        return Tensor([[1, 2]])
    if source == "nested.pt":
        return {"epoch": 3, "model": {"w": Tensor([1, 2], bfloat16)}, "l": [Tensor([5])]}
    return {"w": Tensor([1, 2]), "b": Tensor(0)}


class jit:
    def load(source, map_location):
        return jit

    def state_dict():
        return {"w": Tensor([1, 2])}
'''
PYARROW: Final = '''
"""A stand-in for pyarrow.parquet: a table of a column of numbers and one of text."""


class read_table:
    def __init__(self, source):
        assert source == "t.parquet"

    def to_pydict(self):
        return {"a": [1, 2], "b": ["x", "y"]}
'''
YAML: Final = '''
"""A stand-in for PyYAML."""


def safe_load(file):
    assert file.read() == "- 1\\n- 2\\n"
    return [1, 2]
'''
H5PY: Final = '''
"""A stand-in for h5py: a file with a dataset in a group."""

import numpy


class Dataset:
    def __getitem__(self, key):
        assert key == ()
        return numpy.arange(3)


class File:
    def __init__(self, source):
        assert source == "x.h5"

    def visititems(self, look):
        assert look("g", object()) is None
        assert look("g/a", Dataset()) is None
'''


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what the calls read, beside the programs of the hints and their libraries."""
    originals = tmp_path_factory.mktemp("originals")
    (originals / "files").mkdir()
    _write_tensors(originals / "files")
    _write_foreign(originals / "files")
    modules = {
        "torch": TORCH,
        "h5py": H5PY,
        "pyarrow": "",
        "pyarrow/parquet": PYARROW,
        "yaml": YAML,
    }
    for name, code in modules.items():
        (originals / "lib" / name).mkdir(parents=True)
        (originals / "lib" / name / "__init__.py").write_text(code)
    (originals / "bin").mkdir()
    for name, words in (("python", ""), ("gathercli", "-m gathercli")):
        program = originals / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        program.chmod(0o755)
    return originals


@pytest.fixture
def files(originals: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy what the calls read, and put the programs of the hints on the path."""
    shutil.copytree(originals / "files", folder, dirs_exist_ok=True)
    own = str(Path(__file__).parents[1])
    monkeypatch.setenv("PATH", f"{originals / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{originals / 'lib'}:{own}")
    return folder


def _write_tensors(folder: Path) -> None:
    import zarr
    from safetensors.numpy import save_file

    array = np.arange(3)
    (folder / "empty").mkdir()
    for name in ("x.npy", "a b.npy", "in/a.npy", "in/b.npy", "one/a.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        np.save(folder / name, array)
    np.savez(folder / "x.npz", a=array, b=array)
    np.savez(folder / "pair.npz", data=array, indices=[[2]])
    np.savez(folder / "long.npz", embedding=array, bias=array)
    raw = saved(array)
    (folder / "slash.npz").write_bytes(archive({"a/b.npy": raw, "a_b.npy": raw}))
    save_file({"a": array, "b": array}, folder / "m.safetensors")
    (folder / "m.json").write_text('{"a":[1],"b":[2]}')
    (folder / "l.json").write_text("[1,2,3]")
    (folder / "tree.json").write_text(
        '{"step_ids":[[[1]]],"parent_ids":[[[0]]],"max_seq_len":[1],"end_token":9}'
    )
    (folder / "v.npy").write_bytes(saved(np.array([0x3F80], np.uint16).view("V2")))
    (folder / "bytes.bin").write_bytes(b"\1\0\0")
    group = zarr.open_group(folder / "g.zarr", mode="w")
    for name in "ab":
        group.create_array(name, data=array)
    (folder / "jobs.jsonl").write_text(JOB + '"expect":[2]}\n')
    (folder / "typo.jsonl").write_text(JOB + '"axsi":0}\n')
    (folder / "shape.jsonl").write_text(
        '{"id":"s","op":"shape","of":"gather","data":"[2]","indices":"[1]","expect":"[1]"}\n'
    )
    (folder / "out.jsonl").write_text(JOB + '"output":"../out.npy"}\n')


def _write_foreign(folder: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper

    texts = {
        "c.csv": "1.5,2\n3,4\n",
        "c.tsv": "1.5\t2\n3\t4\n",
        "rows.txt": "0\n1\n2\n",
        "list of 3.txt": "0, 1, 2",
        "c.yaml": "- 1\n- 2\n",
        "heading.csv": "x,y\n1,2\n",
        "words.csv": "name,age\nbob,3\n",
        "holes.csv": "x,y\n1,\n",
        "semicolons.csv": "1;2\n3;4\n",
        "quoted.csv": '"x","y"\n"1","2"\n',
        "it's a.csv": "1,2\n",
        "table.txt": "1,2\n3,4\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "t.parquet").write_bytes(b"PAR1\x15\x04" + bytes(8) + b"PAR1")
    (folder / "p.pkl").write_bytes(pickle.dumps(np.arange(3)))
    (folder / "d.pkl").write_bytes(pickle.dumps({"a": np.arange(3), 7: [1, 2]}))
    (folder / "x.json.gz").write_bytes(gzip.compress(b"[1,2,3]", mtime=0))
    (folder / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    for name in ("state.pt", "tensor.pt", "m.pt"):
        (folder / name).write_bytes(archive({"m/data.pkl": b"\x80\2."}))
    (folder / "script.pt").write_bytes(archive({"m/data.pkl": b"\x80\2.", "m/code/m.py": b""}))
    (folder / "old.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["y"], name="first"),
        helper.make_node("Gather", ["w", "ids"], ["z"], name="second"),
    ]
    weights = [
        numpy_helper.from_array(np.arange(3.0), "w"),
        numpy_helper.from_array(np.array(1), "i"),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["N", 2])
    graph = helper.make_graph(nodes, "g", [ids], [], weights)
    model = helper.make_model(graph).SerializeToString()
    (folder / "model.onnx").write_bytes(model)
    (folder / "models").mkdir()
    (folder / "models" / "model.onnx").write_bytes(model)
    proto = TensorProto(dims=[3], data_type=TensorProto.INT8, name="t", data_location="EXTERNAL")
    proto.external_data.add(key="location", value="bytes.bin")
    (folder / "elsewhere.pb").write_bytes(proto.SerializeToString())
    graph = helper.make_graph([], "g", [], [], [proto])
    (folder / "beside.onnx").write_bytes(helper.make_model(graph).SerializeToString())


def hints(ran: Ran) -> list[str]:
    return re.findall(r"^hint: (.*)$", ran.err, re.MULTILINE)


def split(line: str) -> list[str]:
    """Split a line into words as bash does, and without it where that is plain."""
    if re.fullmatch(r"(?:[\w\s:=,./#+@…-]|'[^']*')*", line):
        return shlex.split(line)
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True
    )
    return words.stdout.split("\0")[:-1]


def line_of(call: Wrong, advice: str) -> str:
    """Write the line that a piece of advice makes of a call."""
    words = re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""", call.words)

    def instead(token: str) -> str:
        assert call.place is not None, f"{advice} is neither a line nor an option"
        return " ".join(["gathercli", *words[: call.place], token, *words[call.place + 1 :]])

    if advice == "gathercli gather":
        return " ".join([advice, *words[1:]])
    if advice.startswith(PROGRAMS) and not advice.endswith("|"):
        return advice
    if advice.endswith("|"):
        return f"{advice} {instead('-')}"
    replaces = call.place is not None and words[call.place].startswith("-")
    if re.match("--?[a-zA-Z]", advice) and not replaces:
        return f"gathercli {call.words} {advice}"
    return instead(advice)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_hint_works_when_it_is_pasted_and_replaces_no_file(
    call: Wrong, run: Run, files: Path
) -> None:
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}

    ran = run(*split(call.words), stdin=call.stdin)

    (hint,) = hints(ran)
    for advice, after in re.findall("`(.*?)`( after)?", hint):
        if after:
            assert_done(f"gathercli {call.words} {advice}", call.stdin, run)
            continue
        if advice in call.names or (call.place is None and (files / split(advice)[0]).exists()):
            continue  # the file that the line before it has written
        assert_done(line_of(call, advice), call.stdin, run)
    assert {path: path.read_bytes() for path in before} == before


def assert_done(line: str, stdin: bytes, run: Run) -> None:
    """Run a line as a shell does; in this process where it is one call of ours."""
    if line.startswith("gathercli ") and not re.search("[|<]", line):
        ran = run(*split(line)[1:], stdin=stdin)
        assert (ran.status, "error" in ran.err) == (0, False), line + ran.err
        return
    process = subprocess.run(["bash", "-c", line], input=stdin, capture_output=True, check=False)
    assert (process.returncode, b"error" in process.stderr) == (0, False), (
        line + process.stderr.decode()
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("state.pt", {"w": [1, 2], "b": 0}),
        ("tensor.pt", {"data": [[1, 2]]}),
        ("script.pt", {"w": [1, 2]}),
        ("old.pt", {"w": [1, 2], "b": 0}),
        ("x.h5", {"g/a": [0, 1, 2]}),
        ("elsewhere.pb", [1, 0, 0]),
        ("p.pkl", {"data": [0, 1, 2]}),
        ("d.pkl", {"a": [0, 1, 2], "7": [1, 2]}),
        ("t.parquet", {"a": [1, 2], "b": ["x", "y"]}),
        ("c.csv", [[1.5, 2], [3, 4]]),
        ("c.tsv", [[1.5, 2], [3, 4]]),
        ("heading.csv", [1, 2]),
        ("words.csv", [["name", "age"], ["bob", "3"]]),
        ("semicolons.csv", [[1, 2], [3, 4]]),
        ("quoted.csv", [1, 2]),
    ],
)
def test_a_converting_line_writes_all_tensors_into_a_new_file(
    name: str, members: Any, run: Run
) -> None:
    stem = name.partition(".")[0]
    for existing in (f"{stem}.npy", f"{stem}.npz"):
        Path(existing).write_text("mine")

    (hint,) = hints(run("info", name))
    line, target, *_ = re.findall("`(.*?)`", hint)
    subprocess.run(["bash", "-c", line], check=True)

    assert target.startswith(f"{stem}-1.np")
    result = np.load(target)
    if isinstance(members, dict):
        result = {key: result[key].tolist() for key in result.files}
        assert result == members
    else:
        assert result.tolist() == members
    assert Path(f"{stem}.npy").read_text() == Path(f"{stem}.npz").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "place"), [("gather 1,2 0,1 -f npy", None), ("convert 1,2 - --to npy", 2)]
)
def test_the_hint_for_binary_on_a_terminal_names_a_new_file(
    words: str, place: int | None, run: Run, files: Path
) -> None:
    (files / "result.npy").write_text("mine")

    (hint,) = hints(run(*split(words), terminal=(1,)))

    in_place = "" if place is None else " in its place"
    (advice,) = re.findall(f"^`(.*?)`{in_place} writes a file$", hint)
    assert_done(line_of(Wrong(words, place), advice), b"", run)
    assert (files / "result.npy").read_text() == "mine"
    assert np.load("result-1.npy").size == 2


def test_a_converting_line_writes_here_if_the_folder_of_the_input_is_read_only(
    run: Run, folder: Path
) -> None:
    (folder / "away").mkdir()
    (folder / "away/x.csv").write_text("1,2\n3,4\n")
    reader, writer = os.pipe()
    os.write(writer, b"c,d\n1,2\n")
    os.close(writer)

    beside = hints(run("info", "away/x.csv"))
    piped = hints(run("info", f"/dev/fd/{reader}"))
    os.close(reader)

    assert [hint.rpartition(" ")[2] for hint in beside] == ["`away/x.npy`"]
    assert [hint.rpartition(" ")[2] for hint in piped] == [f"`{reader}.npy`"]


def advising(tree: ast.AST) -> Iterator[ast.AST]:
    """Find the expressions whose texts are hints."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Hint":
            yield node
        elif isinstance(node, ast.keyword) and node.arg == "hint":
            yield node.value
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target, value in chain.from_iterable(pairs(t, node.value) for t in targets):
                if "hint" in (getattr(target, "attr", ""), getattr(target, "id", "")):
                    yield value


def pairs(target: ast.AST, value: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Pair what an assignment binds with the expressions; a tuple binds each of its elements."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def template(node: ast.AST) -> str | None:
    """Make a pattern of a text; None for what is no text of a hint with something to paste."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
        text = "".join(map(str, parts))
    else:
        return None
    if "`" not in text and "{" not in text:
        return None
    return ".*".join(map(re.escape, re.split(r"\{[\w\0]*\}|\0", text)))


def templates() -> dict[str, str]:
    """Find the patterns of all hints in the package, and where they are."""
    places = {}
    package = Path(__file__).parents[1] / "gathercli"
    for path in sorted(package.rglob("*.py")):
        for node in advising(ast.parse(path.read_text())):
            inner = {
                id(part)
                for each in ast.walk(node)
                if isinstance(each, ast.JoinedStr)
                for part in each.values
            }
            inner |= {  # the words of Python, which test_api.py follows
                id(part)
                for each in ast.walk(node)
                if isinstance(each, ast.keyword) and each.arg == "python"
                for part in ast.walk(each)
            }
            for each in ast.walk(node):
                if id(each) not in inner and (pattern := template(each)):
                    places[pattern] = f"{path.relative_to(package)}:{getattr(each, 'lineno', 0)}"
    return places


ELSEWHERE: Final = {
    "api.py": "Python's, which test_api.py follows",
    "models/python.py": "Python's, which test_python.py follows",
    "ops/__init__.py": "Python's, which test_api.py follows",
    "io/arraylike.py": "Python's, which test_api.py follows",
    "batch/cluster.py": "a cluster's",
    "cli/commands/operators.py": "a cluster's",
    "batch/cluster_options.py": "a cluster's",
    "batch/pool.py": "a defect's",
    "runtimes/client.py": "those of runtimes that are not here",
    "errors.py": "a defect's",
}
"""Files whose hints need what is not here."""

UNTRIED: Final = (
    "lifts the limit",
    "`dask worker",
    " tries it",
    " does the rest when there is room for it",
    "M`, or smaller chunks (`--chunks`)",
    "--indices …` makes jobs without a file",
    "`--matrix` makes names for the settings it tries",
    "`unset ",
    "on an empty axis only ",
    "`-f json` writes any number of them",
    " > FILE` unpacks it",
    " writes a file",
    "` its text goes to stdout",
    "` with ",
    "`python -m pip install '",
    "`array.shape` is the shape",
    "` is the first",
    "did you mean `--job ",
)
"""Words of hints that take too long to follow, or that are followed in tests of their own."""


@pytest.mark.no_cover
def test_every_hint_in_the_source_has_a_case(run: Run, files: Path) -> None:
    del files
    printed = [hint for call in CALLS for hint in hints(run(*split(call.words), stdin=call.stdin))]

    unknown = {
        pattern: place
        for pattern, place in templates().items()
        if not any(re.search(pattern, hint) for hint in printed)
        and place.partition(":")[0] not in ELSEWHERE
        and not any(re.escape(words) in pattern for words in UNTRIED)
    }

    assert unknown == {}


def test_the_script_of_the_manual_converts_nested_and_bfloat16_tensors(files: Path) -> None:
    (script,) = (each for each in page("formats").blocks("OTHER FORMATS") if hasattr(each, "text"))
    (files / "convert.py").write_text(script.text)

    subprocess.run([sys.executable, "convert.py", "nested.pt", "n.npz"], check=True)

    with np.load("n.npz") as members:
        assert {key: members[key].tolist() for key in members} == {"model.w": [1, 2], "l.0": [5]}


def test_the_hint_chooses_one_of_several_jobs_by_its_id(run: Run, folder: Path) -> None:
    job = {"op": "gather", "data": [1], "indices": [0]}
    jobs = [json.dumps({"id": name} | job) + "\n" for name in ("one", "two")]
    (folder / "jobs.jsonl").write_text("".join(jobs))

    ran = run("explain", "--job", "jobs.jsonl")

    assert ran.err.splitlines()[1] == "hint: `--job 'jobs.jsonl#one'` is the first"
    assert run("explain", "--job", "jobs.jsonl#one").status == 0


@pytest.mark.parametrize(
    ("member", "hint"),
    [
        ('"op":"gather_elements"', 'did you mean "gather-elements"?'),
        ('"op":"take"', '`gather` with `"version":"numpy.take"`'),
        ('"op":"gather","dim":0', 'did you mean "axis"?'),
        ('"op":"gather","expect_error":"out-of-range"', 'did you mean "index-range"?'),
        ('"op":"gather","expect_error":"x"', "the rules are version, data-dtype, "),
    ],
)
def test_the_hint_corrects_a_misspelt_key_or_value_of_a_job(
    member: str, hint: str, run: Run, folder: Path
) -> None:
    (folder / "j.jsonl").write_text("{" + member + ',"data":[1],"indices":[0]}\n')

    assert run("batch", "j.jsonl").err.splitlines()[1].startswith(f"hint: {hint}")


def test_the_hint_corrects_a_misspelt_version_in_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATHERCLI_VERSION", "onx-12")

    ran = run("gather", "[1]", "0")

    assert ran.err.splitlines()[1].startswith(
        "hint: did you mean `export GATHERCLI_VERSION=onnx-12`? `-V openvino-8` takes precedence; "
    )
