"""gathercli-formats(5): how tensors are written on the command line and in files."""

from __future__ import annotations

from typing import Final

from gathercli.report.manual import Console, Page, Terms
from gathercli.spec.dtypes import DTYPES

NAME: Final = "formats"

TENSORS: Final = Terms(
    (
        (
            "x.npy, x.npz#weights, x.json#indices, x.safetensors#emb, x.pb, x.zarr",
            "A file, or a folder of chunks; its content tells its format.",
        ),
        ("@name", "Surely a file, even if its name reads as a literal."),
        (
            "-",
            "Standard input: the bytes of a file, or the text of an argument, of which a list may "
            "have blanks or line ends in place of commas; -#data and -#indices when one stream "
            "holds both.",
        ),
        (
            "'[[0,0,4],[4,0,0]]', 3",
            "JSON: integers are int64 (uint64 when they must be), any fraction makes float64; 3 "
            "is 0-D.",
        ),
        ("0,0,4", "A bare list; 0, is one element, and -1,0 needs no -- before it."),
        (
            "2x3xi32=[[0 0 4][4 0 0]]",
            "A typed literal, between blanks or commas, nested or flat; 3xi64=0 repeats, "
            "xf32=1.5 is 0-D.",
        ),
        (
            "arange:2x5xf32, zeros:3x4, rand:4x3,seed=7",
            "A generator; int64 without a type, rand float64 in [0, 1). rand of integers takes "
            "high=. The seed is 0 unless given.",
        ),
        (
            "bin:4x3xbf16@raw.bin",
            "A file of bare elements, of this shape and type, little-endian and row-major; @- is "
            "standard input.",
        ),
    )
)

_TOKENS: Final = (
    "A word is tried in this order: - and @, bin:, literals and generators, files. A literal wins "
    "over a file of the same name, which a note says; @ forces the file. In the name of a file "
    "what follows the last # is a key, unless a file has the whole name.",
    "Strings in literals are quoted with \" or ', complex numbers are written 1+2j, and nan, inf "
    "and -inf are floats.",
)

_FILES: Final = Terms(
    (
        (
            "NumPy .npy (npy)",
            "Versions 1.0, 2.0 and 3.0; C and Fortran order, both byte orders, 0-D and empty "
            "tensors, strings (<U). The bytes there must be the bytes declared. A regular file is "
            "mapped, not held. Objects need pickle and are refused. bfloat16, which NumPy lacks, "
            "is written as <V2, float8 and narrower types as <V1; --data-dtype, such as "
            "--data-dtype bfloat16, says what they are.",
        ),
        (
            "NumPy .npz (npz)",
            "A zip archive of .npy members, stored or deflated; #name chooses one. Refused: "
            "members that overlap, repeat a name, are encrypted or packed otherwise, or inflate "
            "beyond 200 times their bytes past 256 MiB. Written with stored members, the "
            "same bytes for the same tensors; the result of an operator is the member output.",
        ),
        (
            "JSON (json)",
            "A nested list, its type inferred or declared by --data-dtype; or an object of nested "
            "lists and typed tensors, of which #name chooses one. UTF-8, with or without a byte "
            "order mark; keys once; numbers within float64. Written on one line.",
        ),
        (
            "Open Inference Protocol (oip)",
            'A request {"inputs":[...]}, a response {"outputs":[...]}, or one tensor '
            '{"name":"x","shape":[2,3],"datatype":"INT64","data":[...]}; "data" nested or flat, '
            '"dtype" for "datatype" is read too. The names of types are the protocol\'s, and BF16, '
            "COMPLEX64 and COMPLEX128; strings are BYTES. Parameters of a response name the "
            "operator, its attributes, and how many indices were filled.",
        ),
        (
            "Hugging Face .safetensors (safetensors)",
            "#name chooses a tensor; mapped, not held. Types that NumPy has, bfloat16, "
            "float8_e4m3fn, float8_e5m2, the fnuz of both, float8_e8m0fnu and float4_e2m1fn, of "
            "which a byte holds two. Reading needs gathercli[safetensors].",
        ),
        (
            "ONNX TensorProto .pb (pb)",
            "One tensor, as the test data of ONNX keeps it. External data is never opened; models "
            "and segments are refused. Elements below 8 bits are packed there, and a byte each "
            "elsewhere. Needs gathercli[onnx].",
        ),
        (
            "Zarr .zarr (zarr)",
            "A local folder of chunks, versions 2 and 3, sharded or not; #name chooses an array of "
            "a group. Codecs: blosc, zstd, gzip, zlib, lz4, crc32c, transpose, and the filters "
            "shuffle and delta; others are refused, and so are a chunk that inflates beyond its "
            "size and a link that leads out of the folder of the array. gather, gather-elements "
            "and convert read only the chunks they need, and hold a part of the result at a time, "
            "so that neither need fit in memory; a chunk that changes meanwhile ends the command. "
            "An output is written beside its place, each chunk once, and gets its name when all "
            "are there, or that of an array that holds nothing else, in one step; a kill leaves a "
            "folder .NAME.*.tmp, which may be removed, and where the file system cannot exchange "
            "two names perhaps .NAME.*.old, the array that was there. It is stored as the data is, "
            "without shards, or as --chunks says; convert keeps attributes and names of "
            "dimensions. Needs gathercli[zarr].",
        ),
        (
            "raw bytes .bin (bin)",
            "Elements alone, little-endian and row-major. bin:SHAPExTYPE@FILE reads them; the size "
            "of the file must be that of the tensor.",
        ),
        (
            "literal",
            "The typed literal that reads back to the same tensor, such as 2xf32=[1.0 2.5].",
        ),
    )
)

_VALUES: Final = Terms(
    (
        (
            "integers",
            "Are never rounded and never pass through a float. In untyped lists they are int64, "
            "uint64 when they must be; beyond 2^53 they do not mix with fractions.",
        ),
        (
            "floats",
            "Are written with the fewest digits that read back to the same value of their type; "
            "float16, bfloat16 and narrower ones as the float32 that equals them.",
        ),
        (
            "NaN and infinities",
            'In JSON "NaN", "Infinity" and "-Infinity"; --nonfinite writes them bare, as null, or '
            "refuses them. Both forms are read. Binary formats keep the payload of a NaN.",
        ),
        ("complex numbers", "In JSON [re, im]; --data-dtype complex64 reads a last axis of 2 so."),
        (
            "strings",
            "Are UTF-8 in text and ONNX, <U in .npy. A NUL at the end is refused, as NumPy would "
            "drop it, and so is half of a surrogate pair.",
        ),
        (
            "empty tensors",
            "[] is int64 as indices and float64 as data. Plain JSON keeps (2,0) but not (0,3), "
            "which a note says.",
        ),
    )
)

_LIMITS: Final = Terms(
    (
        ("dimensions", "64."),
        ("header of .npy, of .safetensors", "10 000 bytes, 100 000 000 bytes."),
        ("members of .npz", "100 000."),
        (
            "members of a group of .zarr, chunks of a shard, chunks read at once",
            "10 000, 32 768, 262 144.",
        ),
        (
            "strings side by side",
            "Each takes the width of the longest: 16 times the bytes of all, past 256 MiB; "
            "--max-bytes 0 lifts it.",
        ),
        ("digits of an integer in JSON", "4 300."),
        (
            "what is held in memory",
            "Half of the free memory: standard input, text and what it takes when "
            "parsed, inflated members, literals. "
            "--max-bytes sets it, and 0 lifts it.",
        ),
        (
            "a result",
            "16 GiB, whatever it is made of; --max-bytes sets it, and 0 lifts it. In a file the "
            "free space of the disk is another limit, and of .zarr the only one.",
        ),
    )
)

SCRIPT: Final = """\
import sys, numpy, torch

def tensors(value, name=""):
    if torch.is_tensor(value):
        value = value.float() if value.dtype == torch.bfloat16 else value
        yield name or "data", value.numpy(force=True)
    elif isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from tensors(each, f"{name}.{key}" if name else str(key))

source, target = sys.argv[1:]
numpy.savez(target, **dict(tensors(torch.load(source, "cpu", weights_only=True))))"""

_FOREIGN: Final = (
    "Pickles, PyTorch .pt, HDF5 .h5, Parquet, .csv, .tsv, YAML, ONNX models and compressed files "
    "are recognised and refused with the line that converts or unpacks them. Nothing is "
    "unpickled, evaluated, downloaded or imported because of what a file says.",
    "That line is for a PyTorch file of one tensor, or of a dictionary of tensors. Of dictionaries "
    "and lists within each other, and of bfloat16, which NumPy lacks, this script makes a .npz:",
    Console(SCRIPT),
)

EXAMPLES: Final = """\
$ gathercli convert arange:2x2xf32 - --to oip
{"outputs":[{"name":"output","shape":[2,2],"datatype":"FP32","data":[0.0,1.0,2.0,3.0]}]}
$ gathercli convert arange:2x3xf32 x.bin --quiet && gathercli gather bin:2x3xf32@x.bin 1,
[[3.0,4.0,5.0]]
$ printf '{"data":[[1,2],[3,4]],"indices":[1]}' | gathercli gather -#data -#indices
[[3,4]]"""


def page() -> Page:
    """Make the page."""
    types = [f"{d.name:<20}{d.short:<15}{d.oip}" for d in DTYPES]
    return Page(
        f"gathercli-{NAME}",
        "tensors on the command line and in files",
        (
            ("TENSOR ARGUMENTS", (TENSORS, *_TOKENS)),
            (
                "FILES",
                (
                    "A file is told by its first bytes, not by its name; a pipe or a FIFO is read "
                    "like a file. For an output the suffix names the format, or the word in "
                    "brackets does after --to or -f; the two must agree where the suffix is known, "
                    "unless --force-format is given.",
                    _FILES,
                ),
            ),
            (
                "TYPES",
                (
                    "Names, short names, and those of the Open Inference Protocol:",
                    Console("\n".join(types)),
                    "Those below string are what ml_dtypes adds to NumPy: data that OpenVINO's "
                    "versions take, and never indices. A number in text is rounded to the nearest "
                    "that the type has, and refused where it has none near.",
                ),
            ),
            ("VALUES", (_VALUES,)),
            ("LIMITS", ("What is larger is refused before any of it is allocated.", _LIMITS)),
            ("OTHER FORMATS", _FOREIGN),
            ("EXAMPLES", (Console(EXAMPLES),)),
            ("SEE ALSO", ("gathercli(1), gathercli-convert(1), gathercli-info(1)",)),
        ),
        number=5,
    )
