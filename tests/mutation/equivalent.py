"""Mutants that no test can notice, each with the reason.

Each is a piece of a file under gathercli/, which is there once, what is put in its place, and why
nothing that a caller can see changes.
"""

from __future__ import annotations

from typing import Final

OFFSETS: Final = "An offset is never below that of a job without a line."
TUNED: Final = "It chooses between two ways to one answer, by what was measured to be faster."

TUNED_PLACES: Final = (
    ("small/gather.py", "MOST_STEPS = 24_000", "MOST_STEPS = 23999", "MOST_STEPS = 24001"),
    ("small/gather.py", "FEW_STEPS = 16", "FEW_STEPS = 15", "FEW_STEPS = 17"),
    (
        "small/gather.py",
        "MOST_BYTES = 1 << 17",
        "MOST_BYTES = 1 << 16",
        "MOST_BYTES = 1 << 18",
        "MOST_BYTES = 2 << 17",
    ),
    ("small/gather.py", "MOST_RUNS = 256", "MOST_RUNS = 255", "MOST_RUNS = 257"),
    ("small/gather.py", "maxsize=64", "maxsize=63", "maxsize=65"),
    ("small/elements.py", "MOST = 1 << 14", "MOST = 1 << 13", "MOST = 1 << 15", "MOST = 2 << 14"),
    ("small/text.py", "MOST = 1 << 12", "MOST = 1 << 11", "MOST = 1 << 13", "MOST = 2 << 12"),
    ("small/text.py", "2.0**-126", "1.0**-126", "2.0**+126", "2.0**-125", "2.0**-127"),
    ("small/text.py", "range(6 if value >=", "range(5 if value >=", "range(6 if value >"),
    ("arrays/indices.py", "if len(set(sizes)) == 1:", "if len(set(sizes)) == 0:"),
    (
        "small/gather.py",
        "flat and min(flat) >= 0",
        "flat and min(flat) >= 1",
        "flat and min(flat) > 0",
    ),
    ("small/gather.py", "if min(at) < 0:", "if min(at) <= 0:", "if min(at) < 1:"),
    (
        "arrays/indices.py",
        "KEPT: Final = 1 << 20",
        "KEPT: Final = 1 << 19",
        "KEPT: Final = 1 << 21",
        "KEPT: Final = 2 << 20",
    ),
    (
        "arrays/indices.py",
        "TUPLES: Final = 1 << 14",
        "TUPLES: Final = 1 << 13",
        "TUPLES: Final = 1 << 15",
        "TUPLES: Final = 2 << 14",
    ),
    ("arrays/indices.py", "FOLD: Final = 256", "FOLD: Final = 255", "FOLD: Final = 257"),
)
"""The files, what is there, and all that may be in its place, by which only the speed changes."""

EQUIVALENT: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("jobs/journal.py", "_NONE: Final = -1", "_NONE: Final = -2", "No offset is negative."),
    ("jobs/journal.py", "_NONE: Final = -1", "_NONE: Final = +1", "A line is longer than that."),
    (
        "jobs/journal.py",
        'line["status"] != OK)',
        'line["status"] < OK)',
        "Both other statuses come before it in the alphabet.",
    ),
    (
        "jobs/journal.py",
        "[: len(_START)]):\n                    break",
        "[: len(_START)]):\n                    continue",
        "A line without an end is the last.",
    ),
    ("jobs/journal.py", "        fd = -1\n", "        fd = -2\n", "No descriptor is negative."),
    ("jobs/journal.py", "if offset == _NONE)", "if offset <= _NONE)", OFFSETS),
    (
        "jobs/journal.py",
        "self._offsets[number] == _NONE",
        "self._offsets[number] <= _NONE",
        OFFSETS,
    ),
    (
        "io/write.py",
        "range(1, 1000)",
        "range(1, 1001)",
        "The name after the last of them is the same.",
    ),
    ("jobs/journal.py", "if offset != _NONE:", "if offset > _NONE:", OFFSETS),
    (
        "jobs/journal.py",
        "self._digests[at] == key",
        "self._digests[at] <= key",
        "What bisect_left finds is not below the key.",
    ),
    ("jobs/journal.py", '"seconds", 0)', '"seconds", 1)', "Both are numbers."),
    ("jobs/journal.py", '"seconds", 0)', '"seconds", -1)', "Both are numbers."),
    (
        "io/write.py",
        "_O_PATH | os.O_DIRECTORY | os.O_CLOEXEC",
        "_O_PATH | os.O_DIRECTORY & os.O_CLOEXEC",
        "What is no folder is refused by the next call in the same words; Python closes on exec.",
    ),
    (
        "small/gather.py",
        "self.used = shape, 0, 0",
        "self.used = shape, 0, 1",
        "Every source sets it before it is read.",
    ),
    (
        "small/gather.py",
        "self.used = shape, 0, 0",
        "self.used = shape, 0, -1",
        "Every source sets it before it is read.",
    ),
    *(
        (
            "small/gather.py",
            "self.used = shape, 0, 0",
            f"self.used = shape, {number}, 0",
            "It is set before each use.",
        )
        for number in (1, -1)
    ),
    (
        "small/gather.py",
        "zip(bound.tensors, tensors, strict=True)",
        "zip(bound.tensors, tensors, strict=False)",
        "Both are of one mapping.",
    ),
    (
        "small/gather.py",
        "self.array.reshape(-1)",
        "self.array.reshape(-2)",
        "NumPy takes any negative size so.",
    ),
    ("small/text.py", "dtype.bits == 64", "dtype.bits >= 64", "No float has more."),
    (
        "small/text.py",
        "bits & 0x7FFFFF == 0",
        "bits & 0x7FFFFE == 0",
        "Of what is no power only the nearest digits are near enough.",
    ),
    ("small/text.py", '"-" if value < 0', '"-" if value <= 0', "A zero was written before."),
    (
        "small/text.py",
        "bits & 0x7FFFFF == 0",
        "bits & 0x7FFFFF <= 0",
        "It is never negative.",
    ),
    (
        "small/text.py",
        "is_above if middle == low",
        "is_above if middle <= low",
        "It is one of both, and the other is higher.",
    ),
    (
        "small/text.py",
        "exact[0] > exact[1]",
        "exact[0] >= exact[1]",
        "Equal ones were answered before.",
    ),
    ("small/text.py", "else 1, 10):", "else 1, 11):", "Nine digits name any float32."),
    (
        "small/text.py",
        "else value)\n    return repr(value)",
        "else value)\n    return None",
        "Nine digits name any float32.",
    ),
    ("small/text.py", "return False", "return None", "It is only asked whether it is true."),
    ("io/write.py", "self._fd = -1", "self._fd = -2", "No descriptor is negative."),
    (
        "io/write.py",
        "        self._exists = False\n",
        "        pass\n",
        "It is set before it is read.",
    ),
    ("arrays/indices.py", "if len(set(sizes)) == 1:", "if len(set(sizes)) <= 1:", "None is empty."),
    (
        "arrays/indices.py",
        '(tuples.dtype.kind == "i")',
        '(tuples.dtype.kind <= "i")',
        "The other kind is u.",
    ),
    (
        "arrays/indices.py",
        '    if indices.dtype.kind == "u":\n        return IndexKind',
        '    if indices.dtype.kind >= "u":\n        return IndexKind',
        "The other kind is i.",
    ),
    (
        "arrays/indices.py",
        'if indices.dtype.kind == "u" or not',
        'if indices.dtype.kind >= "u" or not',
        "The other kind is i.",
    ),
    *(
        (
            "arrays/indices.py",
            f"np.right_shift({name}, 8 * {of}.itemsize - 1",
            f"np.right_shift({name}, 8 * {of}.itemsize - 0",
            "NumPy shifts by all bits as by all but the sign.",
        )
        for name, of in (("indices", "indices"), ("component", "tuples"))
    ),
    (
        "arrays/indices.py",
        "else indices < 0\n",
        "else indices <= 0\n",
        "Zero is outside of an empty axis alone, where the call is refused.",
    ),
    (
        "arrays/indices.py",
        "zip(sizes, steps, strict=True)",
        "zip(sizes, steps, strict=False)",
        "There is a step for each axis.",
    ),
    (
        "small/gather.py",
        "range(0, cells, run or 1)",
        "range(0, cells, run or 2)",
        "Without a run there is no cell.",
    ),
    (
        "small/gather.py",
        "max(flat) < axes[0].size",
        "max(flat) < axes[-1].size",
        "Without tuples there is one axis.",
    ),
    (
        "small/gather.py",
        "cells // (run or 1)",
        "cells // (run or 2)",
        "Without a run there is no cell.",
    ),
    *(
        (
            "small/gather.py",
            "k + size if k < 0 and",
            f"k + size if k {bound} and",
            "Zero comes here on an empty axis alone, whose size adds nothing to it.",
        )
        for bound in ("<= 0", "< 1")
    ),
    (
        "small/gather.py",
        "inside = 0 <= position < size",
        "inside = 0 <= position <= size",
        "It is asked of a negative index alone, which stays below the size.",
    ),
    *(
        (
            "small/gather.py",
            "return 0 if k < 0 else",
            f"return 0 if k {bound} else",
            "Zero is outside of an empty axis alone, which was answered before.",
        )
        for bound in ("<= 0", "< 1")
    ),
    (
        "small/text.py",
        "middle = low if nearest == low",
        "middle = low if nearest <= low",
        "It is one of both.",
    ),
    (
        "small/text.py",
        "bits & 0x7FFFFF == 0",
        "bits & 0x7FFFFF >= 0",
        "Of what is no power only the nearest digits are near enough.",
    ),
    (
        "io/write.py",
        "os.O_RDONLY | os.O_CLOEXEC",
        "os.O_RDONLY & os.O_CLOEXEC",
        "The first is 0, and Python closes on exec.",
    ),
    (
        "spec/call.py",
        "map(Operand.of, tensors), strict=True",
        "map(Operand.of, tensors), strict=False",
        "The callers have a tensor for each input.",
    ),
    (
        "spec/rules/dimensions.py",
        "meet(end.shape[0], steps",
        "meet(end.shape[-1], steps",
        "Its rank is 1 there.",
    ),
    (
        "spec/rules/element_types.py",
        "decided_by is not None:\n        return False",
        "decided_by is not None:\n        return None",
        "It is only asked whether it is true.",
    ),
    ("small/text.py", "bits % 2 == 0", "bits % 2 <= 0", "It is 0 or 1."),
    (
        "spec/shapes.py",
        "    return bottom if bottom == top else Dim(bottom, top)\n\n\ndef meet_all",
        "    return bottom if bottom >= top else Dim(bottom, top)\n\n\ndef meet_all",
        "What cannot be equal was answered before.",
    ),
    (
        "arrays/indices.py",
        "zip(largest, sizes, strict=True)",
        "zip(largest, sizes, strict=False)",
        "There is a size for each component.",
    ),
    (
        "arrays/indices.py",
        "zip(smallest, largest, sizes, strict=True)",
        "zip(smallest, largest, sizes, strict=False)",
        "There is a size for each component.",
    ),
    *(
        (
            "arrays/indices.py",
            f"np.right_shift({name}, 8 * {of}.itemsize - 1",
            f"np.right_shift({name}, 8 * {of}.itemsize + 1",
            "NumPy shifts by more than all bits as by all.",
        )
        for name, of in (("indices", "indices"), ("component", "tuples"))
    ),
    (
        "arrays/indices.py",
        'low = 0 if indices.dtype.kind == "u"',
        'low = 0 if indices.dtype.kind >= "u"',
        "The other kind is i.",
    ),
    (
        "arrays/indices.py",
        'self._native = indices.dtype.str[1:] == "i8"',
        'self._native = indices.dtype.str[0:] == "i8"',
        TUNED,
    ),
    (
        "arrays/indices.py",
        "return tuples[..., 0]",
        "return tuples[..., -1]",
        "There is one component.",
    ),
    (
        "arrays/indices.py",
        "positions.reshape(-1)",
        "positions.reshape(-2)",
        "NumPy takes any negative size so.",
    ),
    (
        "small/gather.py",
        "return -1  # a refused",
        "return -2  # a refused",
        "Any negative position is none.",
    ),
    (
        "arrays/indices.py",
        "if not policies[0].wraps:",
        "if not policies[1].wraps:",
        "All components of a call wrap, or none; there are at least two here.",
    ),
    (
        "arrays/indices.py",
        "reshape(-1, FOLD * k)",
        "reshape(-2, FOLD * k)",
        "NumPy takes any negative size so.",
    ),
    *(
        (
            "arrays/indices.py",
            f"np.right_shift({name}, 8 * {of}.itemsize - 1",
            f"np.right_shift({name}, 9 * {of}.itemsize - 1",
            "NumPy shifts by more than all bits as by all.",
        )
        for name, of in (("indices", "indices"), ("component", "tuples"))
    ),
    (
        "arrays/indices.py",
        'elif indices.dtype.kind == "u":',
        'elif indices.dtype.kind >= "u":',
        "The other kind is i.",
    ),
    (
        "arrays/indices.py",
        "self.whole(), IndexKind.PLAIN, True",
        "self.whole(), IndexKind.PLAIN, False",
        TUNED,
    ),
    (
        "spec/dtypes.py",
        "self.bits <= 8",
        "self.bits <= 9",
        "No type has 9 bits.",
    ),
    (
        "spec/dtypes.py",
        "len(narrow) == len(DTYPES)",
        "len(narrow) >= len(DTYPES)",
        "There are no more.",
    ),
    (
        "spec/framework_calls.py",
        "if len(axes) != 1 or _MASK.search(parts[axes[0]])",
        "if len(axes) != 1 or _MASK.search(parts[axes[-1]])",
        "There is one.",
    ),
    ("spec/op.py", "d.bits >= 32", "d.bits >= 31", "No type has 31 bits."),
    (
        "spec/rules/attributes.py",
        "if call.axis != call.axis_number",
        "if call.axis > call.axis_number",
        "Counted from the front it is not lower.",
    ),
    (
        "spec/rules/attributes.py",
        "if number != batch_dims",
        "if number < batch_dims",
        "Counted from the front it is not lower.",
    ),
    (
        "spec/rules/dimensions.py",
        "        if rank == 0:",
        "        if rank <= 0:",
        "No rank is negative.",
    ),
    (
        "spec/rules/dimensions.py",
        "if rank == 0 or (",
        "if rank <= 0 or (",
        "No rank is negative.",
    ),
    *(
        (
            "spec/rules/dimensions.py",
            "call.legal(axis[0]) or (0, -1)",
            f"call.legal(axis[0]) or {ends}",
            "Neither interval has a number.",
        )
        for ends in ("(1, -1)", "(0, -2)")
    ),
    (
        "spec/rules/dimensions.py",
        "call.legal(axis[0])",
        "call.legal(axis[-1])",
        "It is the size of one dimension.",
    ),
    (
        "spec/rules/dimensions.py",
        "str(flat(value)[0])",
        "str(flat(value)[-1])",
        "There is one.",
    ),
    (
        "spec/rules/dimensions.py",
        "(3, 3, 1, 0), strict=True",
        "(3, 3, 1, 0), strict=False",
        "GatherTree has four inputs.",
    ),
    (
        "spec/rules/element_types.py",
        "elif len(types) < len(missing)",
        "elif len(types) <= len(missing)",
        "The number of all types is odd.",
    ),
    *(
        (
            "spec/rules/element_types.py",
            "call.indices.shape.rank or 0\n    return all",
            f"call.indices.shape.rank or {number}\n    return all",
            "Both ranks are equal, and without dimensions there is no size to compare.",
        )
        for number in (1, -1)
    ),
    (
        "spec/rules/element_types.py",
        "len(sizes) == k and all",
        "len(sizes) >= k and all",
        "It is cut after k of them.",
    ),
    (
        "spec/rules/element_types.py",
        "narrow = dtype.bits < 64",
        "narrow = dtype.bits < 63",
        "No type has 63 bits.",
    ),
    (
        "spec/rules/element_types.py",
        "if len(others) == 1 else",
        "if len(others) <= 1 else",
        "There is at least the one that is refused.",
    ),
    (
        "spec/shapes.py",
        "if len(shape) != len(data)",
        "if len(shape) < len(data)",
        "It has no more dimensions.",
    ),
    (
        "spec/shapes.py",
        "bottom == top else Dim(bottom, top)\n\n\nclass Shape",
        "bottom >= top else Dim(bottom, top)\n\n\nclass Shape",
        "The least product is not above the greatest.",
    ),
    (
        "spec/shapes.py",
        "len(sizes) == len(self)",
        "len(sizes) >= len(self)",
        "There are no more.",
    ),
    (
        "spec/shapes.py",
        "else LARGEST + 1",
        "else LARGEST + 2",
        "Both are refused as larger.",
    ),
    ("spec/shapes.py", "if len(parts) > 1 and", "if len(parts) >= 1 and", "One part is the body."),
    ("spec/shapes.py", "if len(parts) > 1 and", "if len(parts) > 0 and", "One part is the body."),
    ("spec/shapes.py", "dims[0] is ...", "dims[-1] is ...", "There is one."),
    ("spec/shapes.py", 'dims[0] == "..."', 'dims[-1] == "..."', "There is one."),
    *((path, before, after, TUNED) for path, before, *others in TUNED_PLACES for after in others),
)
