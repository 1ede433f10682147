"""Examples of every command: three for its help, and those that the manual adds.

Each is run by a test, which compares what it prints.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HELPFUL: Final = 3
"""How many of a command's examples its help shows: the first."""


class Example(NamedTuple):
    """A command line and what it prints.

    Attributes
    ----------
    shows
        What it shows; blank for those of the manual alone.
    output
        All that it prints; None for more than a page has room for.
    """

    shows: str
    command: str
    output: str | None


EXAMPLES: Final = {
    "gather": (
        Example(
            "an index outside the axis gives zeros (OpenVINO 8)",
            "gathercli gather '[1,2,3,4,5]' '[3,10,-20]' --quiet",
            "[4,0,0]",
        ),
        Example(
            "each batch picks from its own data",
            "gathercli gather arange:2x5 '[[0,0,4],[4,0,0]]' --axis 1 --batch-dims 1",
            "[[0,0,4],[9,5,5]]",
        ),
        Example(
            "columns, by another version, in another format",
            "gathercli gather arange:2x5 -1,0 --axis 1 --version onnx-13 -f literal",
            "2x2xi64=[[4 0][9 5]]",
        ),
    ),
    "gather-elements": (
        Example(
            "an index for every element of the output",
            "gathercli gather-elements '[[1,2],[3,4]]' '[[0,1],[0,0]]' --axis 0",
            "[[1,4],[1,2]]",
        ),
        Example(
            "indices smaller than the data, in ONNX",
            "gathercli gather-elements arange:3x3 '[[2,0]]' --version onnx-13",
            "[[6,1]]",
        ),
        Example(
            "compare with what is expected",
            "gathercli gather-elements '[[1,2],[3,4]]' '[[1,0]]' -a 0 --expect '[[3,2]]'",
            "[[3,2]]",
        ),
    ),
    "shape": (
        Example(
            "unknown dimensions and intervals",
            "gathercli shape gather '[?,1..5,3]' '[?,2]' --axis 1 --batch-dims 1",
            "[?,2,3]",
        ),
        Example(
            "symbols, and the answer as JSON",
            "gathercli shape gather '[N,3,C]' '[K]' --axis 1 --version onnx-13 -f json",
            '["N","K","C"]',
        ),
        Example(
            "an axis known at run time only",
            "gathercli shape gather 2x1x200x400 2x2 --axis unknown --batch-dims 1",
            "[2,?,?,?]",
        ),
    ),
    "explain": (
        Example(
            "the picture",
            "gathercli explain gather '[10,20,30]' 2,-3,9 -q",
            """\
openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]   for i in 0..2

data i64[3]    indices i64[3]    out i64[3]
b 0  10        a 0   2           a 0  30   data[2]
  1  20        b 1  -3 → 0       b 1  10   data[0]
a 2  30        · 2   9 → none    · 2   0   zeros

· zero-filled   no letter: not read
the index takes the place of coordinate 0 of data:
  out[0] = data[indices[0]] = data[2] = 30
  out[1] = data[indices[1]] = data[-3 → 0] = 10
  out[2] = data[indices[2]] = data[9 → none] = 0

shape  data[:0] + indices[0:] + data[1:]  =  [] + [3] + []  =  [3]
read   2 of 3 cells of data""",
        ),
        Example(
            "one cell in words",
            "gathercli explain gather arange:4x3 3,0,-1 --cell 2,1",
            """\
out[2,1]   i = 2, s = 1
  indices[2] is -1
  it counts from the end of axis 0, whose size is 4: -1 + 4 = 3
  it takes the place of coordinate 0: data[3,1]
  out[2,1] = data[indices[2],1] = data[-1 → 3,1] = 10""",
        ),
        Example(
            "every cell in turn",
            "gathercli explain gather-elements '[[1,2],[3,4]]' '[[0,1]]' -V 13 --step",
            """\
out[0,0] = data[indices[0,0],0] = data[0,0] = 1
out[0,1] = data[indices[0,1],1] = data[1,1] = 4""",
        ),
    ),
    "check": (
        Example(
            "which indices are illegal, and for which version",
            "gathercli check gather 1.5,2,3,4,5 3,10,-20 --allow-fill",
            """\
openvino.Gather-8   axis 0   batch_dims 0   out[i] = data[indices[i]]
data f64[5]   indices i64[3]   out f64[3]
shape  data[:0] + indices[0:] + data[1:]  =  [] + [3] + []  =  [3]

2 of 3 indices outside -5..4
at   index
[1]     10  zero-filled
[2]    -20  zero-filled

version            verdict
openvino.Gather-8  2 zero-filled, first 10 at [1]
openvino.Gather-7  index-range refuses 2, first 10 at [1]
openvino.Gather-1  index-range refuses 2, first 10 at [1]
onnx.Gather-13     index-range refuses 2, first 10 at [1]
onnx.Gather-11     index-range refuses 2, first 10 at [1]
onnx.Gather-1      index-range refuses 2, first 10 at [1]""",
        ),
        Example(
            "the verdicts for a version in use",
            "gathercli check gather-elements arange:2x2 '[[0,-1]]' -V onnx-13",
            None,
        ),
        Example(
            "the same as data",
            "gathercli check gather arange:4x3 '[[3,0],[1,2]]' -f json",
            None,
        ),
    ),
    "compare": (
        Example(
            "who agrees where indices are clamped",
            "gathercli compare arange:2x2 '[[1,5],[0,0]]' -a 0 --out-of-range clamp",
            """\
data i64[2,2]   indices i64[2,2]   axis 0   batch_dims 0   --out-of-range clamp

version                    shape    group  outcome
openvino.Gather-8          [2,2,2]  A      1 clamped, first 5 at [0,1]
openvino.Gather-7          [2,2,2]  A      1 clamped, first 5 at [0,1]
openvino.Gather-1          [2,2,2]  A      1 clamped, first 5 at [0,1]
onnx.Gather-13             [2,2,2]  A      1 clamped, first 5 at [0,1]
onnx.Gather-11             [2,2,2]  A      1 clamped, first 5 at [0,1]
onnx.Gather-1              [2,2,2]  A      1 clamped, first 5 at [0,1]
openvino.GatherElements-6  [2,2]    B      1 clamped, first 5 at [0,1]
onnx.GatherElements-13     [2,2]    B      1 clamped, first 5 at [0,1]
onnx.GatherElements-11     [2,2]    B      1 clamped, first 5 at [0,1]

A and B  have the shapes [2,2,2] and [2,2]""",
        ),
        Example(
            "the versions of one operator",
            "gathercli compare arange:4x3 3,-1 --ops gather",
            None,
        ),
        Example(
            "two versions",
            "gathercli compare 5,6,7 -1,-7 --ops openvino-8,openvino-1",
            None,
        ),
        Example(
            "",
            "gathercli compare 5,6,7 -1,-7 --ops openvino.Gather-8,openvino.Gather-1 "
            "--out-of-range clamp",
            """\
data i64[3]   indices i64[2]   axis by default   batch_dims 0   --out-of-range clamp

version            shape  group  outcome
openvino.Gather-8  [2]    A      1 clamped, first -7 at [1]
openvino.Gather-1  [2]    B      2 clamped, first -1 at [0]

A and B  first differ at [0]: 7 and 5""",
        ),
    ),
    "batch": (
        Example(
            "jobs from a pipe, a JSON object each",
            'echo \'{"id":"a","op":"gather","data":[5],"indices":[0]}\' | gathercli batch -',
            None,
        ),
        Example(
            "a job for every value of an option",
            "gathercli batch --op gather --data arange:2x2 --indices 1 --matrix axis=0,1",
            None,
        ),
        Example(
            "what would be done, from headers alone",
            "gathercli batch --op gather --data arange:3x2 --indices 2,1 --dry-run",
            None,
        ),
        Example(
            "",
            "gathercli batch --op gather --data 2x2xf32=1 --indices 1 --matrix axis=0,1 -q | "
            "cut -d, -f 1-2",
            '{"id":"2x2xf32=1 axis=0","status":"ok"\n{"id":"2x2xf32=1 axis=1","status":"ok"',
        ),
        Example(
            "",
            "gathercli batch --op gather --data arange:3x2 --indices 2,1 --dry-run -f pretty "
            "| grep ^ok",
            "ok        arange:3x2   openvino.Gather-8   int64[2,2]",
        ),
        Example(
            "",
            "gathercli batch --op gather --data 5,6 --indices 1 -o x.npy -q > r; gathercli "
            "convert x.npy -",
            "6",
        ),
        Example(
            "",
            "b='gathercli batch --op gather --data 5, --indices 0 --report r -q'; $b; $b "
            "--resume; wc -l <r",
            "1",
        ),
    ),
    "convert": (
        Example(
            "to another type, if no element changes",
            "gathercli convert arange:2x3 - --dtype bf16 --to literal",
            "2x3xbf16=[[0.0 1.0 2.0][3.0 4.0 5.0]]",
        ),
        Example(
            "to a file, whose suffix names the format, and back",
            "gathercli convert arange:2x3 x.npy && gathercli convert x.npy -",
            "[[0,1,2],[3,4,5]]",
        ),
        Example(
            "to another type, rounding",
            "gathercli convert '[0.1,2]' - --dtype float16 --lossy --quiet",
            "[0.099975586,2.0]",
        ),
        Example(
            "",
            "gathercli convert '[1.9,2.5,-1.9]' - --dtype int8 --lossy --quiet",
            "[2,2,-2]",
        ),
    ),
    "info": (
        Example(
            "type, shape, statistics and a preview",
            "gathercli info '[[1,2],[3,8]]'",
            """\
[[1,2],[3,8]]   literal
int64[2,2]   4 elements   32 bytes of data   C order
min        1 at [0,0]
max        8 at [1,1]
mean       3.5
histogram  1 ███    █ 8   8 bins, at most 1 in one

   0  1
0  1  2
1  3  8""",
        ),
        Example(
            "the header alone",
            "gathercli info --header 3xf16=0",
            """\
3xf16=0   literal
float16[3]   3 elements   6 bytes of data""",
        ),
        Example(
            "a line of JSON for every file",
            "gathercli info '[[1,2],[3,8]]' arange:3 -f json",
            None,
        ),
    ),
    "demo": (
        Example(
            "the first lesson",
            "gathercli demo",
            None,
        ),
        Example(
            "what becomes of an index past the end",
            "gathercli demo outside",
            None,
        ),
        Example(
            "all of them, a key at a time",
            "gathercli demo --all",
            None,
        ),
        Example(
            "",
            "gathercli demo --list | head -n 3",
            """\
gather            take rows by their numbers
columns           take columns: another axis
negative          count from the end""",
        ),
    ),
    "ops": (
        Example(
            "all that a version says",
            "gathercli ops openvino-8",
            None,
        ),
        Example(
            "what changes for a model that moves",
            "gathercli ops --diff openvino-7 openvino-8",
            None,
        ),
        Example(
            "what equals a call of another framework",
            "gathercli ops --like torch.gather",
            """\
torch.gather beside onnx.GatherElements-13
  call                     torch.gather(data, axis, indices)
  equals                   onnx.GatherElements-13 and onnx.GatherElements-11, for legal indices
  index from -s to -1      refused; the version: counted from the end
  index outside [-s, s-1]  refused, as by the version
  otherwise                0-D data and indices are taken
                           indices without elements are taken whatever their other dimensions

to be equal to onnx.GatherElements-13
  front = torch.where(indices < 0, indices + data.shape[axis], indices)
  torch.gather(data, axis, front)""",
        ),
        Example(
            "",
            "gathercli ops onnx.GatherElements-13 | head -n 3",
            """\
onnx.GatherElements-13
  command          gathercli gather-elements DATA INDICES -V onnx-13
  changes          adds bfloat16""",
        ),
    ),
    "man": (
        Example(
            "the page of a command",
            "gathercli man gather",
            None,
        ),
        Example(
            "how tensors are written, and the file formats",
            "gathercli man formats",
            None,
        ),
        Example(
            "what sets the versions apart",
            "gathercli man operators",
            None,
        ),
    ),
    "completion": (
        Example(
            "in ~/.bashrc",
            'eval "$(gathercli completion bash)"',
            "",
        ),
        Example(
            "in a folder of $fpath",
            "gathercli completion zsh > _gathercli",
            "",
        ),
        Example(
            "in ~/.config/fish/completions",
            "gathercli completion fish > gathercli.fish",
            "",
        ),
    ),
}


def console(command: str) -> str:
    """Write the examples of a command as the manual shows them."""
    lines = ((f"$ {each.command}", each.output) for each in EXAMPLES[command])
    return "\n".join(part for pair in lines for part in pair if part)
