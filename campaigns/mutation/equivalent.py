"""Mutants that no test can notice, each with the reason.

Each is a piece of a file under gathercli/, which is there once, what is put in its place, and why
nothing that a caller can see changes.
"""

from __future__ import annotations

from typing import Final

OFFSETS: Final = "An offset is never below that of a job without a line."
TUNED: Final = "It chooses between two ways to one answer, by what was measured to be faster."

PLACES: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "compute/indices.py": (
        (
            "The other kind is i.",
            '    if indices.dtype.kind == "u":\n        return IndexKind',
            '    if indices.dtype.kind >= "u":\n        return IndexKind',
        ),
        (
            "The other kind is i.",
            'if indices.dtype.kind == "u" or not',
            'if indices.dtype.kind >= "u" or not',
        ),
        (
            "NumPy shifts by all bits as by all but the sign.",
            "np.right_shift(indices, 8 * indices.itemsize - 1",
            "np.right_shift(indices, 8 * indices.itemsize - 0",
        ),
        (
            "Zero is outside of an empty axis alone, where the call is refused.",
            "else indices < 0\n",
            "else indices <= 0\n",
        ),
        (
            "There is a stride for each axis.",
            "zip(self.policies, self.strides, strict=True)",
            "zip(self.policies, self.strides, strict=False)",
        ),
        (
            "NumPy shifts by more than all bits as by all.",
            "np.right_shift(indices, 8 * indices.itemsize - 1",
            "np.right_shift(indices, 8 * indices.itemsize + 1",
            "np.right_shift(indices, 9 * indices.itemsize - 1",
        ),
        (
            "The other kind is i.",
            'low = 0 if indices.dtype.kind == "u"',
            'low = 0 if indices.dtype.kind >= "u"',
        ),
        (
            TUNED,
            'is_native = indices.dtype.str[1:] == "i8"',
            'is_native = indices.dtype.str[0:] == "i8"',
        ),
        ("NumPy takes any negative size so.", "room(shape).reshape(-1)", "room(shape).reshape(-2)"),
        (
            "The other kind is i.",
            'elif indices.dtype.kind == "u":',
            'elif indices.dtype.kind >= "u":',
        ),
        (TUNED, "if stride != 1:", "if stride != 0:"),
        (TUNED, "for policy in policies}) == 1:", "for policy in policies}) == 0:"),
        (
            TUNED,
            "MOST_KEPT_INDICES: Final = 1 << 20",
            "MOST_KEPT_INDICES: Final = 1 << 19",
            "MOST_KEPT_INDICES: Final = 1 << 21",
            "MOST_KEPT_INDICES: Final = 2 << 20",
        ),
        (
            TUNED,
            "TUPLES_AT_A_TIME: Final = 1 << 14",
            "TUPLES_AT_A_TIME: Final = 1 << 13",
            "TUPLES_AT_A_TIME: Final = 1 << 15",
            "TUPLES_AT_A_TIME: Final = 2 << 14",
        ),
    ),
    "io/files.py": (
        ("The name after the last of them is the same.", "range(1, 1000)", "range(1, 1001)"),
    ),
    "io/write.py": (
        (
            "The next call refuses what is no folder in the same words, and Python closes on exec.",
            "_O_PATH | os.O_DIRECTORY | os.O_CLOEXEC",
            "_O_PATH | os.O_DIRECTORY & os.O_CLOEXEC",
        ),
        ("No descriptor is negative.", "self._fd = -1", "self._fd = -2"),
        (
            "It is set before it is read.",
            "        self._exists = False  # whether the target existed when it was looked up\n",
            "        pass\n",
        ),
        (
            "The first is 0, and Python closes on exec.",
            "os.O_RDONLY | os.O_CLOEXEC",
            "os.O_RDONLY & os.O_CLOEXEC",
        ),
    ),
    "batch/journal.py": (
        ("No offset is negative.", "_NO_OFFSET: Final = -1", "_NO_OFFSET: Final = -2"),
        ("A line is longer than that.", "_NO_OFFSET: Final = -1", "_NO_OFFSET: Final = +1"),
        (
            "Both other statuses come before it in the alphabet.",
            'line["status"] != OK)',
            'line["status"] < OK)',
        ),
        (
            "A line without an end is the last.",
            "[: len(_LINE_START)]):\n                    break",
            "[: len(_LINE_START)]):\n                    continue",
        ),
        ("No descriptor is negative.", "        fd = -1\n", "        fd = -2\n"),
        (OFFSETS, "if offset == _NO_OFFSET)", "if offset <= _NO_OFFSET)"),
        (OFFSETS, "if offset != _NO_OFFSET:", "if offset > _NO_OFFSET:"),
        (
            "What searchsorted finds is not below the key.",
            "digests[order[at]] == key",
            "digests[order[at]] <= key",
        ),
        ("Both are numbers.", '"seconds", 0)', '"seconds", 1)', '"seconds", -1)'),
    ),
    "compute/tensor.py": (
        (
            TUNED,
            "MOST_PACKED_VALUES = 1 << 14",
            "MOST_PACKED_VALUES = 1 << 13",
            "MOST_PACKED_VALUES = 1 << 15",
            "MOST_PACKED_VALUES = 2 << 14",
        ),
        ("No float has more.", "dtype.bits == 64", "dtype.bits >= 64"),
        ("A zero was written before.", '"-" if value < 0', '"-" if value <= 0'),
        ("Without a gap any room is enough.", "is_power and gap < 0", "is_power and gap <= 0"),
        ("Nine digits name any float32.", "else 1, 10):", "else 1, 11):"),
        (
            "Nine digits name any float32.",
            "else value)\n    return repr(value)",
            "else value)\n    return None",
        ),
        ("It is 0 or 1.", "m % 2 == 0", "m % 2 <= 0"),
        (TUNED, "- value) > step", "- value) >= step"),
        (
            TUNED,
            "MOST_TEXTS = 1 << 12",
            "MOST_TEXTS = 1 << 11",
            "MOST_TEXTS = 1 << 13",
            "MOST_TEXTS = 2 << 12",
        ),
        (TUNED, "2.0**-126", "1.0**-126", "2.0**+126", "2.0**-125", "2.0**-127"),
        (TUNED, "range(6 if value >=", "range(5 if value >=", "range(6 if value >"),
    ),
    "compute/small.py": (
        (
            "Every source sets it before it is read.",
            "self.used = shape, 0, 0",
            "self.used = shape, 0, 1",
            "self.used = shape, 0, -1",
        ),
        (
            "It is set before each use.",
            "self.used = shape, 0, 0",
            "self.used = shape, 1, 0",
            "self.used = shape, -1, 0",
        ),
        (
            "Both are of one mapping.",
            "zip(bound.tensors, tensors, strict=True)",
            "zip(bound.tensors, tensors, strict=False)",
        ),
        ("NumPy takes any negative size so.", "self.array.reshape(-1)", "self.array.reshape(-2)"),
        (
            "Without a run there is no cell.",
            "range(0, cells, run or 1)",
            "range(0, cells, run or 2)",
        ),
        (
            "Without tuples there is one axis.",
            "max(flat) < axes[0].size",
            "max(flat) < axes[-1].size",
        ),
        ("Without a run there is no cell.", "cells // (run or 1)", "cells // (run or 2)"),
        (
            "Zero comes here on an empty axis alone, whose size adds nothing to it.",
            "k + size if k < 0 and",
            "k + size if k <= 0 and",
            "k + size if k < 1 and",
        ),
        (
            "It is asked of a negative index alone, which stays below the size.",
            "inside = 0 <= position < size",
            "inside = 0 <= position <= size",
        ),
        (
            "Zero is outside of an empty axis alone, which was answered before.",
            "return 0 if k < 0 else",
            "return 0 if k <= 0 else",
            "return 0 if k < 1 else",
        ),
        ("Any negative position is none.", "return -1  # a refused", "return -2  # a refused"),
        (TUNED, "MOST_STEPS = 24_000", "MOST_STEPS = 23999", "MOST_STEPS = 24001"),
        (
            TUNED,
            "MOST_STEPS_WITH_NUMPY = 16",
            "MOST_STEPS_WITH_NUMPY = 15",
            "MOST_STEPS_WITH_NUMPY = 17",
        ),
        (
            TUNED,
            "MOST_BYTES = 1 << 17",
            "MOST_BYTES = 1 << 16",
            "MOST_BYTES = 1 << 18",
            "MOST_BYTES = 2 << 17",
        ),
        (TUNED, "MOST_RUNS = 256", "MOST_RUNS = 255", "MOST_RUNS = 257"),
        (TUNED, "maxsize=64", "maxsize=63", "maxsize=65"),
        (TUNED, "flat and min(flat) >= 0", "flat and min(flat) >= 1", "flat and min(flat) > 0"),
        (TUNED, "if min(at) < 0:", "if min(at) <= 0:", "if min(at) < 1:"),
    ),
    "spec/call.py": (
        (
            "The callers have a tensor for each input.",
            "map(Operand.of, tensors), strict=True",
            "map(Operand.of, tensors), strict=False",
        ),
    ),
    "spec/dtypes.py": (
        ("No type has 9 bits.", "self.bits <= 8", "self.bits <= 9"),
        ("There are no more.", "len(narrow) == len(DTYPES)", "len(narrow) >= len(DTYPES)"),
    ),
    "frameworks/equivalents.py": (
        (
            "There is one.",
            "if len(axes) != 1 or _MASK.search(parts[axes[0]])",
            "if len(axes) != 1 or _MASK.search(parts[axes[-1]])",
        ),
    ),
    "spec/op.py": (("No type has 31 bits.", "d.bits >= 32", "d.bits >= 31"),),
    "spec/rules.py": (
        (
            "Zero is below each rank that is left, as 0-D inputs were refused before.",
            'which is negative" if number < 0 else',
            'which is negative" if number <= 0 else',
        ),
        (
            "Counted from the front it is not lower.",
            "if call.axis != call.axis_number",
            "if call.axis > call.axis_number",
        ),
        (
            "Counted from the front it is not lower.",
            "if number != batch_dims",
            "if number < batch_dims",
        ),
        ("Its rank is 1 there.", "meet(end.shape[0], steps", "meet(end.shape[-1], steps"),
        (
            "Neither interval has a number.",
            "call.legal(axis[0]) or (0, -1)",
            "call.legal(axis[0]) or (1, -1)",
            "call.legal(axis[0]) or (0, -2)",
        ),
        ("It is the size of one dimension.", "call.legal(axis[0])", "call.legal(axis[-1])"),
        ("There is one.", "str(flattened(value)[0])", "str(flattened(value)[-1])"),
        ("GatherTree has four inputs.", "(3, 3, 1, 0), strict=True", "(3, 3, 1, 0), strict=False"),
    ),
    "spec/shapes.py": (
        (
            "What cannot be equal was answered before.",
            "    return bottom if bottom == top else Dim(bottom, top)\n\n\ndef meet_all",
            "    return bottom if bottom >= top else Dim(bottom, top)\n\n\ndef meet_all",
        ),
        ("It has no more dimensions.", "if len(shape) != len(data)", "if len(shape) < len(data)"),
        (
            "The least product is not above the greatest.",
            "bottom == top else Dim(bottom, top)\n\n\n_ANY_RANK",
            "bottom >= top else Dim(bottom, top)\n\n\n_ANY_RANK",
        ),
        ("There are no more.", "len(sizes) == len(self)", "len(sizes) >= len(self)"),
        ("Both are refused as larger.", "else LARGEST + 1", "else LARGEST + 2"),
        (
            "One part is the body.",
            "if len(parts) > 1 and",
            "if len(parts) >= 1 and",
            "if len(parts) > 0 and",
        ),
        ("There is one.", "dims[0] is ...", "dims[-1] is ..."),
        ("There is one.", 'dims[0] == "..."', 'dims[-1] == "..."'),
    ),
    "spec/type_rules.py": (
        (
            "It is only asked whether it is true.",
            "decided_by is not None:\n        return False",
            "decided_by is not None:\n        return None",
        ),
        (
            "The number of all types is odd.",
            "elif len(types) < len(missing)",
            "elif len(types) <= len(missing)",
        ),
        ("It is cut after k of them.", "len(sizes) == k and all", "len(sizes) >= k and all"),
        (
            "There is at least the one that is refused.",
            "if len(others) == 1 else",
            "if len(others) <= 1 else",
        ),
    ),
}
"""By file the reason, the piece, and all that may be in its place."""

EQUIVALENT: Final[tuple[tuple[str, str, str, str], ...]] = tuple(
    (path, before, after, why)
    for path, places in PLACES.items()
    for why, before, *afters in places
    for after in afters
)
