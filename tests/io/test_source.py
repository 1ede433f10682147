"""Tensor arguments: literals, files, members, standard input and declared types."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathercli.errors import GatherError
from tests.conftest import only_error
from tests.tensorfiles import ONE, STORED, assert_tensor_or_error, npy, often, outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Program, Ran, Run


REQUEST: Final = (
    b'{"inputs":['
    b'{"name":"data","shape":[3],"datatype":"INT64","data":[5,6,7]},'
    b'{"name":"indices","shape":[2],"datatype":"INT32","data":[2,0]}]}'
)


def hint_of(ran: Ran) -> str:
    return next(line for line in ran.err.splitlines() if line.startswith("hint: "))


def test_a_literal_wins_over_a_file_of_its_name_unless_an_at_sign_forces_the_file(
    run: Run, folder: Path
) -> None:
    (folder / "0,1").write_text("[2]")
    note = "note: `0,1` was read as a literal; the file of that name is `@0,1`\n"

    assert run("gather", "[5,6,7]", "0,1") == (0, "[5,6]\n", note)
    assert run("gather", "[5,6,7]", "0,1", "-q") == (0, "[5,6]\n", "")
    assert run("gather", "[5,6,7]", "@0,1") == (0, "[7]\n", "")


def test_a_file_is_read_by_its_content_whatever_its_name(run: Run, folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(3))
    (folder / "a.npy").rename(folder / "a.json")
    (folder / "b.npy").write_text("[2,0]")

    assert run("gather", "a.json", "b.npy") == (0, "[2,0]\n", "")


def test_members_of_an_npz_and_keys_of_a_json_file_are_named_behind_a_hash(
    run: Run, folder: Path
) -> None:
    np.savez(folder / "x.npz", weights=np.arange(3) * 10, picks=np.array([2, 0]))
    (folder / "x.json").write_text('{"data":[7,8,9],"indices":[1]}')

    assert run("gather", "x.npz#weights", "x.npz#picks") == (0, "[20,0]\n", "")
    assert run("gather", "x.npz#weights.npy", "x.json#indices") == (0, "[10]\n", "")
    assert run("gather", "x.json#data", "x.json#indices") == (0, "[8]\n", "")
    assert run("gather", "@x.json#data", "@x.npz#picks") == (0, "[9,7]\n", "")


def test_a_file_whose_whole_name_has_a_hash_is_that_file(run: Run, folder: Path) -> None:
    np.save(folder / "a#b.npy", np.array([1, 2]))
    np.savez(folder / "a#c.npz", k=np.array([3, 4]))

    assert run("gather", "a#b.npy", "1") == (0, "2\n", "")
    assert run("gather", "a#c.npz#k", "1") == (0, "4\n", "")


def test_an_archive_or_document_of_one_tensor_needs_no_key(run: Run, folder: Path) -> None:
    np.savez(folder / "x.npz", only=np.arange(3))
    (folder / "x.json").write_text('{"inputs":[{"name":"i","datatype":"INT8","data":[2]}]}')

    assert run("gather", "x.npz", "x.json") == (0, "[2]\n", "")


@pytest.mark.parametrize(
    ("token", "hint"),
    [
        ("x.npz", "x.npz#data"),
        ("x.npz#dta", "x.npz#data"),
        ("x.npz#my kex", "x.npz#my key"),
        ("x.json", "x.json#data"),
        ("x.json#dat", "x.json#data"),
        ("x.json#my kex", "x.json#my key"),
        ("a file.npz#dta", "a file.npz#data"),
        ("a file.npz#my kex", "a file.npz#my key"),
        ("x.npy#data", "x.npy"),
        ("a fil.npz", "a file.npz"),
    ],
)
def test_a_missing_member_is_refused_with_a_hint_that_can_be_pasted(
    token: str, hint: str, run: Run, folder: Path
) -> None:
    for name in ("x.npz", "a file.npz"):
        members: dict[str, Any] = {"data": np.arange(2), "my key": np.arange(2)}
        np.savez(folder / name, **members)
    (folder / "x.json").write_text('{"data":[1,2],"my key":[3]}')
    np.save(folder / "x.npy", np.arange(2))
    ran = run("gather", token, "0")
    assert ran.status == (66 if token == "a fil.npz" else 65)
    only_error(ran)
    assert shlex.split(hint_of(ran).split("`")[1]) == [hint]


def test_the_hint_for_a_json_object_does_not_name_standard_input(run: Run) -> None:
    ran = run("gather", '{"a":[1],"b":[2]}', "0")

    assert ran.status == 65
    assert "-#a" not in ran.err


def test_standard_input_is_a_tensor_in_any_format(run: Run) -> None:
    as_npy = run("gather", "[5,6,7]", "0,1,2", "-f", "npy").raw

    assert run("gather", "-", "0,2", stdin=b"[5,6,7]") == (0, "[5,7]\n", "")
    assert run("gather", "-", "0,2", stdin=as_npy) == (0, "[5,7]\n", "")
    assert run("gather", "[5,6,7]", "-", stdin=b"[0,2]") == (0, "[5,7]\n", "")
    assert run("gather", "-#data", "1", stdin=REQUEST) == (0, "6\n", "")
    assert run("gather", "[5,6,7]", "0,2", "--expect", "-", stdin=b"[5,7]").status == 0


def test_one_stream_may_hold_both_tensors(run: Run, folder: Path) -> None:
    np.savez(folder / "x.npz", data=np.array([5, 6, 7]), indices=np.array([2, 0]))
    expected = (0, "[7,5]\n", "")
    assert run("gather", "-#data", "-#indices", stdin=REQUEST) == expected
    assert run("gather", "-#data", "-#indices", stdin=(folder / "x.npz").read_bytes()) == expected
    object_of_both = b'{"data":[5,6,7],"indices":[2,0]}'
    assert run("gather", "-#data", "-#indices", stdin=object_of_both) == expected


@pytest.mark.parametrize("stdin", [b"[0]", b"", b"[["])
@pytest.mark.parametrize(
    "tokens", [("-", "-"), ("-#data", "-"), ("-", "-#data"), ("[1]", "-", "--expect", "-")]
)
def test_standard_input_serves_only_one_tensor(
    tokens: tuple[str, ...], stdin: bytes, run: Run
) -> None:
    ran = run("gather", *tokens, stdin=stdin)

    assert ran.status == 2
    assert only_error(ran).startswith("error: `-` is used twice")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["[1,2]", "0,", "--data-dtype", "f32"], "1xf32=[1.0]"),
        (["[1,2]", "0,", "--data-dtype", "bfloat16"], "1xbf16=[1.0]"),
        (["[[1,2]]", "0,", "--data-dtype", "complex64"], "1xc64=[1.0+2.0j]"),
        (["2xi32=1 2", "0,", "--data-dtype", "i64"], "1xi64=[1]"),
        (["2xf32=1 2", "0,", "--data-dtype", "u8"], "1xu8=[1]"),
        (["[]", "[]", "--data-dtype", "string"], "0xstr=[]"),
        (["[1,2]", "1xf32=1", "--indices-dtype", "int64"], "1xi64=[2]"),
        (["[1,2]", "[1]", "-V", "onnx-13", "--indices-dtype", "i32"], "1xi64=[2]"),
    ],
)
def test_the_type_of_an_argument_can_be_declared(words: list[str], out: str, run: Run) -> None:
    assert run("gather", *words, "-f", "literal") == (0, out + "\n", "")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["2xi32=1 300", "0", "--data-dtype", "u8"], "dtype"),
        (["2xf32=1 2.5", "0", "--data-dtype", "i64"], "dtype"),
        (["[1,2.5]", "0", "--data-dtype", "i64"], "dtype"),
        (["2xi64=1 16777217", "0", "--data-dtype", "f32"], "dtype"),
        (['["a"]', "0", "--data-dtype", "i64"], "dtype"),
        (["[1e39]", "0", "--data-dtype", "f32"], "dtype"),
        (["[1,2]", "[1]", "--indices-dtype", "f32"], "indices-dtype"),
    ],
)
def test_a_declared_type_that_would_lose_something_is_refused(
    words: list[str], rule: str, run: Run
) -> None:
    ran = run("gather", *words)

    assert ran.status == 65
    assert ran.err.endswith(f"rule: {rule}\n")


def test_a_closed_standard_input_is_no_tensor(program: Program) -> None:
    ran = program("$G gather - 0 <&-")

    assert ran.returncode in (65, 66)
    assert ran.stdout == b""


def test_a_tensor_is_read_from_process_substitution(program: Program) -> None:
    ran = program("$G gather <(printf '[5,6,7]') <(printf '2,')")

    assert ran.stdout == b"[7]\n"
    assert ran.returncode == 0


def test_a_sparse_file_is_refused_after_its_first_bytes(run: Run, folder: Path) -> None:
    with (folder / "s.bin").open("wb") as file:
        file.truncate(3 << 30)

    ran = run("gather", "s.bin", "0")

    assert ran.status == 65
    assert "starts with the bytes 00 00" in ran.err


def test_a_request_without_tensors_is_refused(run: Run) -> None:
    ran = run("gather", "-", "0", stdin=b'{"inputs":[]}')

    assert (ran.status, ran.out) == (65, "")
    assert "the document holds nothing" in ran.err


def test_standard_input_is_read_from_where_another_program_stopped(
    program: Program, folder: Path
) -> None:
    np.save(folder / "x.npy", np.array([7, 5]))
    (folder / "both").write_bytes(b"a line\n" + (folder / "x.npy").read_bytes())

    assert program("{ read -r _; $G gather - 1; } < both").stdout == b"5\n"


def test_two_members_of_a_redirected_archive_are_read(program: Program, folder: Path) -> None:
    np.savez(folder / "x.npz", d=np.array([7, 5]), i=np.array([1]))

    assert program("$G gather -#d -#i < x.npz").stdout == b"[5]\n"


@often
@given(
    st.binary(max_size=200).map(lambda tail: b"\x93NUMPY\1\0" + tail)
    | st.binary(max_size=200).map(lambda tail: b"PK\3\4" + tail)
    | st.binary(max_size=200)
)
def test_any_bytes_are_a_tensor_or_one_error(raw: bytes) -> None:
    assert_tensor_or_error(raw)


@often
@given(st.data())
def test_a_sound_file_with_some_bytes_changed_is_a_tensor_or_one_error(draw: st.DataObject) -> None:
    raw = bytearray(draw.draw(st.sampled_from((ONE, STORED, npy(), npy("'<U2'", "(3,)")))))
    changes = st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)
    for at, byte in draw.draw(changes):
        raw[at] = byte
    assert_tensor_or_error(bytes(raw[: draw.draw(st.integers(0, len(raw)))]))


@often
@given(
    st.text(st.sampled_from("0123456789-+.,:x[]{}\"'#@=ef iu8ranzeos\\jN"), max_size=20).filter(
        lambda word: not word.startswith("-")
    )
)
def test_any_word_is_a_tensor_or_one_error(word: str) -> None:
    found = outcome(word)
    if isinstance(found, GatherError):
        assert found.status in (65, 66)
        assert found.message.startswith("`data`: ")
