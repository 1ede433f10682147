from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from gathercli.cli.generated import SCRIPTS, script
from gathercli.cli.main import SHELLS, main
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.frameworks import every_row
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.dtypes import DTYPES
from gathercli.spec.op import OUT_OF_RANGE_CHOICES
from man import completions
from tests.conftest import only_error
from tests.house import absent_slice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Run


SCRIPT: Final = {shell: script(shell) for shell in SHELLS}
VERSIONS: Final = {
    name: [op.id for op in (*family.ROWS, *(each.op for each in every_row(name)))]
    for name, family in FAMILIES.items()
}
HELP: Final = ["-h", "--help"]

every_command = pytest.mark.parametrize("command", COMMANDS)


def options(command: str) -> list[str]:
    """Return every name of every option of a command, in both of its forms."""
    forms = [command_of(command)]
    forms += [command_of(command, models=True)] if command in OF_MODELS else []
    names = [name for form in forms for option in form.options for name in option.names]
    return [*dict.fromkeys(names), *HELP]


def described() -> list[tuple[str, str]]:
    """Return every option with its help text."""
    options = [option for command in COMMANDS for option in command_of(command).options]
    return [(option.names[0], option.help) for option in options]


def completed(*words: str, folder: Path, before: str = "", line: str = "") -> list[str]:
    """Let bash complete the last of the words after ``gathercli``, as divided from `line`."""
    code = (
        f"COMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}\n"
        f"{before}\n"
        f'source "{SCRIPTS}/gathercli.bash"\n'
        'COMP_WORDS=(gathercli "$@"); COMP_CWORD=$#\n'
        '_gathercli gathercli "${@: -1}" "${@: -2:1}"\n'
        'for word in "${COMPREPLY[@]}"; do printf "%s\\n" "$word"; done\n'
    )
    process = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert not process.stderr
    return process.stdout.splitlines()


def environment() -> dict[str, str]:
    """Put the program on the PATH."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


# every shell


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script_of_a_shell(
    shell: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    assert capfd.readouterr() == (SCRIPT[shell], "")


def test_an_unknown_shell_is_refused_with_the_known_ones(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    err = capfd.readouterr().err
    assert all(shell in err for shell in SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_committed_scripts_are_current(shell: str) -> None:
    now = {"bash": completions.bash, "zsh": completions.zsh, "fish": completions.fish}[shell]()

    assert SCRIPT[shell] == now, "rewrite it with: python -m man.generate"


@pytest.mark.parametrize(("option", "text"), sorted(set(described())))
def test_a_short_description_is_the_first_sentence_of_the_help(option: str, text: str) -> None:
    brief = completions._brief(text)
    assert brief
    rest = text[len(brief) :]
    assert re.match(r"\.(?:\s|$)", rest), f"{option}: {brief}"
    assert not brief.startswith("The same"), option


# bash


def test_bash_completes_commands(tmp_path: Path) -> None:
    assert completed("", folder=tmp_path) == [*COMMANDS, "--help", "--version"]
    assert completed("ga", folder=tmp_path) == [*FAMILIES]
    assert completed("--v", folder=tmp_path) == ["--version"]


@every_command
def test_bash_completes_the_options_of_a_command(command: str, tmp_path: Path) -> None:
    assert completed(command, "-", folder=tmp_path) == options(command)


def test_bash_completes_both_versions_that_are_compared(tmp_path: Path) -> None:
    names = [str(op) for op in (*OPERATORS, *(each.op for each in every_row()))]

    assert completed("ops", "--diff", "", folder=tmp_path) == names
    assert completed("ops", "--diff", "openvino-7", "", folder=tmp_path) == names
    assert completed("ops", "--diff", "7", "8", "--l", folder=tmp_path) == ["--like"]
    assert completed("ops", "--like", "torch.ga", folder=tmp_path) == ["torch.gather"]


def test_bash_completes_options_after_other_words(tmp_path: Path) -> None:
    words = ["gather", "a.npy", "0,1", "--axis", "1", "--ou"]

    assert completed(*words, folder=tmp_path) == ["--out-of-range", "--output"]


@pytest.mark.parametrize("option", ["--version", "-V"])
@pytest.mark.parametrize("command", FAMILIES)
def test_bash_completes_the_versions_of_a_command(
    command: str, option: str, tmp_path: Path
) -> None:
    assert completed(command, option, "", folder=tmp_path) == VERSIONS[command]
    assert completed(command, option, "openvino-", folder=tmp_path) == [
        version for version in VERSIONS[command] if version.startswith("openvino-")
    ]


def test_bash_completes_the_versions_of_all_operators_for_shape(tmp_path: Path) -> None:
    versions = completed("shape", "gather", "--version", "", folder=tmp_path)

    assert len(versions) == len(set(versions))
    assert set(versions) == {version for own in VERSIONS.values() for version in own}


@pytest.mark.parametrize("option", ["--data-dtype", "--indices-dtype"])
def test_bash_completes_dtypes(option: str, tmp_path: Path) -> None:
    every = [dtype.name for dtype in DTYPES]

    assert completed("gather", option, "", folder=tmp_path) == every
    assert completed("gather", option, "u", folder=tmp_path) == [
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "uint4",
        "uint2",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gather", "--negative", ""], ["spec", "wrap", "error"]),
        (["gather", "--out-of-range", ""], ["spec", *OUT_OF_RANGE_CHOICES[1:]]),
        (["gather", "-f", ""], ["auto", "pretty", "json", "oip", "npy", "literal"]),
        (["shape", "gather", "--format", ""], ["auto", "pretty", "json"]),
        (["gather", "--nonfinite", "q"], ["quoted"]),
        (["man", "--color", ""], ["auto", "always", "never"]),
        (["shape", ""], [*FAMILIES]),
        (["batch", "--op", ""], [*FAMILIES]),
        (["batch", "jobs.jsonl", "-f", ""], ["auto", "pretty", "json"]),
        (["man", "sh"], ["shape"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (
            ["ops", "onnx"],
            [
                "onnx.Gather-13",
                "onnx.Gather-11",
                "onnx.Gather-1",
                "onnx.GatherElements-13",
                "onnx.GatherElements-11",
                "onnx.GatherND-13",
                "onnx.GatherND-12",
                "onnx.GatherND-11",
            ],
        ),
    ],
    ids=" ".join,
)
def test_bash_completes_the_values_of_options(
    words: list[str], expected: list[str], tmp_path: Path
) -> None:
    assert completed(*words, folder=tmp_path) == expected


@pytest.mark.parametrize(
    "words",
    [
        ["gather", ""],
        ["gather", "a.npy", ""],
        ["gather", "--output", ""],
        ["gather", "a.npy", "0", "--expect", ""],
        ["gather-tree", "a.npy", "a.npy", "[2]", ""],
        ["batch", "--op", "gather-tree", "--parent-ids", ""],
        ["shape", "gather", ""],
        ["batch", ""],
        ["batch", "a.npy", ""],
        ["batch", "--report", ""],
        ["batch", "--op", "gather", "--data", ""],
    ],
    ids=" ".join,
)
def test_bash_completes_file_names(words: list[str], tmp_path: Path) -> None:
    for name in ("a.npy", "two words.npz"):
        (tmp_path / name).touch()
    names = completed(*words, folder=tmp_path)
    # with nothing offered, `complete -o default` leaves the names of files to bash itself
    by_default = " -o default" in SCRIPT["bash"].splitlines()[-1]

    assert sorted(names) == ["a.npy", "two words.npz"] or (by_default and not names)


def test_bash_registers_the_function(tmp_path: Path) -> None:
    code = f'source "{SCRIPTS}/gathercli.bash"; complete -p gathercli'

    process = subprocess.run(
        ["bash", "--norc", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )

    assert process.stdout.endswith("-F _gathercli gathercli\n")
    assert not process.stderr


def test_bash_needs_no_builtin_that_version_3_2_lacks(tmp_path: Path) -> None:
    lacking = "enable -n mapfile readarray compopt"
    (tmp_path / "a.npy").touch()

    assert completed("ga", folder=tmp_path, before=lacking) == [*FAMILIES]
    assert completed("gather", "a", folder=tmp_path, before=lacking) in ([], ["a.npy"])


# what follows `#`

MEMBERS: Final = ("weights", "a b", "it's", "$(touch run)", "e:1=2@3", '"`x`', "é")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work beside files whose members and ids hold what a shell would act on."""
    arrays: dict[str, Any] = {name: np.arange(2) for name in (*MEMBERS, "two\nlines", "\x1b[31m")}
    for name in ("w.npz", "my w.npz", "w#.npz"):
        np.savez(tmp_path / name, **arrays)
    np.save(tmp_path / "one.npy", np.arange(2))
    os.mkfifo(tmp_path / "pipe")
    call = {"data": [1], "indices": [0]}
    jobs = [{"id": "first", "op": "gather"} | call, {"id": "a#b", "op": "gather"} | call]
    jobs.append({"id": "sizes", "op": "shape", "of": "gather", "data": "[2]", "indices": "[1]"})
    (tmp_path / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    assert not (tmp_path / "run").exists()  # no shell ran what a name holds


def offered(kind: str, word: str, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return the names that the program gives to the scripts."""
    assert main(["__names", kind, word]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out.splitlines()


@pytest.mark.usefixtures("files")
def test_the_members_of_a_file_are_offered_except_those_with_control_characters(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for start in ("w.npz#", "@w.npz#", "~/w.npz#", "w#.npz#", "./my w.npz#"):
        assert offered("tensor", start + "what", capfd) == [start + name for name in MEMBERS]


def test_the_members_of_every_format_are_offered(folder: Path, run: Run) -> None:
    import zarr

    np.savez(folder / "x.npz", a=np.arange(2), b=np.arange(3))
    run("convert", "x.npz", "x.safetensors")
    run("convert", "x.npz", "x.json")
    group = zarr.create_group(str(folder / "x.zarr"))
    group.create_array("a", shape=(2,), dtype="i4")
    group.create_group("in").create_array("b", shape=(2,), dtype="i4")

    for name in ("x.npz", "x.safetensors", "x.json"):
        assert run("__names", "tensor", f"{name}#") == (0, f"{name}#a\n{name}#b\n", "")
    assert run("__names", "tensor", "x.zarr#") == (0, "x.zarr#a\nx.zarr#in/b\n", "")


@pytest.mark.usefixtures("files")
def test_the_ids_of_jobs_with_elements_are_offered(capfd: pytest.CaptureFixture[str]) -> None:
    for word in ("jobs.jsonl#", "jobs.jsonl#a#"):
        assert offered("job", word, capfd) == ["jobs.jsonl#first", "jobs.jsonl#a#b"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "word", ["", "w.npz", "no.npz#", "-#", "pipe#", "one.npy#", ".#", "jobs.jsonl#", "\0#", "#"]
)
def test_nothing_is_offered_for_a_file_without_members(
    word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert offered("tensor", word, capfd) == []


def test_a_large_text_file_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gathercli.cli.commands.completion.MOST_COMPLETION_BYTES", 4000)
    job = {"id": "a", "op": "gather", "data": [1], "indices": [0], "title": "x" * 4000}
    (folder / "x.json").write_text(json.dumps(job))
    (folder / "y.json").write_text(json.dumps({"a": [1] * 4000}))

    assert offered("job", "x.json#", capfd) == []
    assert offered("tensor", "y.json#", capfd) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["w.npz#we"], "w.npz#weights"),
        (["w.npz#a"], r"w.npz#a\ b"),
        (["w.npz#it"], r"w.npz#it\'s"),
        (["'w.npz#it"], r"w.npz#it'\''s"),
        (["w.npz#\\$"], r"w.npz#\$\(touch\ run\)"),
        (['"w.npz#\\$'], r"w.npz#\$(touch run)"),
        (['"w.npz#\\"'], r"w.npz#\"\`x\`"),
        ([r"my\ w.npz#we"], r"my\ w.npz#weights"),
        (["'my w.npz#a"], "my w.npz#a b"),
        (["~/w.npz#we"], "~/w.npz#weights"),
        (["0", "w.npz#we"], "w.npz#weights"),
        (["0", "0", "--expect", "w.npz#we"], "w.npz#weights"),
    ],
)
def test_bash_completes_members_quoted(words: list[str], expected: str, files: Path) -> None:
    assert completed("gather", *words, folder=files) == [expected]


@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [
        ("w.npz#e:", ["w.npz#e", ":"], "1=2@3"),
        ("w.npz#e:1=", ["w.npz#e", ":", "1", "="], "2@3"),
        ("w.npz#e:1=2", ["w.npz#e", ":", "1", "=", "2"], "2@3"),
        ("@w.npz#we", ["@", "w.npz#we"], "w.npz#weights"),
        ("0 0 --expect=w.npz#we", ["0", "0", "--expect", "=", "w.npz#we"], "w.npz#weights"),
        ("0 0 --expect=@w.npz#we", ["0", "0", "--expect", "=@", "w.npz#we"], "w.npz#weights"),
    ],
)
def test_bash_completes_members_of_a_word_that_it_splits(
    line: str, words: list[str], expected: str, files: Path
) -> None:
    assert completed("gather", *words, folder=files, line=f"gathercli gather {line}") == [expected]


def test_bash_completes_the_ids_of_jobs(files: Path) -> None:
    if absent := absent_slice(start := ["explain", "--job"]):
        pytest.skip(f"the package is without {absent}")
    assert completed(*start, "jobs.jsonl#", folder=files) == ["jobs.jsonl#first", "jobs.jsonl#a#b"]
    assert completed(*start, "jobs.jsonl#a#", folder=files) == ["jobs.jsonl#a#b"]
    line = "gathercli explain --job=jobs.jsonl#f"
    words = [*start, "=", "jobs.jsonl#f"]
    assert completed(*words, folder=files, line=line) == ["jobs.jsonl#first"]


def in_fish(line: str) -> list[str]:
    """Let fish complete a line; return the candidates without what describes them."""
    if shutil.which("fish") is None:
        pytest.skip("there is no fish")
    code = f"source {SCRIPTS}/gathercli.fish; complete -C $argv[1]"
    process = subprocess.run(
        ["fish", "--no-config", "-c", code, line],
        env=environment(),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return [each.partition("\t")[0] for each in process.stdout.splitlines()]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gather w.npz#we", ["w.npz#weights"]),
        ("gather w.npz#\\$", ["w.npz#$(touch run)"]),
        (r"gather my\ w.npz#we", ["my w.npz#weights"]),
        ("gather 'my w.npz#a", ["my w.npz#a b"]),
        ("gather 0 0 --expect @w.npz#we", ["@w.npz#weights"]),
        ("gather 0 0 --expect=~/w.npz#we", ["--expect=~/w.npz#weights"]),
        ("info one.npy w.npz#we", ["w.npz#weights"]),
        ("explain --job jobs.jsonl#f", ["jobs.jsonl#first"]),
        ("explain --job=jobs.jsonl#a#", ["--job=jobs.jsonl#a#b"]),
        ("demo gather-", ["gather-elements", "gather-nd", "gather-tree"]),
        ("demo 1", ["1", *(str(n) for n in range(10, 17))]),
        ("ops --diff 7 openvino.Gather-", [f"openvino.Gather-{n}" for n in (1, 7, 8)]),
        ("gather w.np", ["w.npz"]),
    ],
)
def test_fish_completes_members_ids_lessons_and_the_second_version(
    words: str, expected: list[str]
) -> None:
    assert in_fish(f"gathercli {words}") == expected


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("kind", "typed", "expected"),
    [
        ("tensor", "w.npz#we", [*MEMBERS]),
        ("tensor", r"my\ w.npz#", [*MEMBERS]),
        ("tensor", "~/w.npz#", [*MEMBERS]),
        ("tensor", "w#.npz#", [*MEMBERS]),
        ("job", "jobs.jsonl#", ["first", "a#b"]),
        ("job", "jobs.jsonl#a#", ["b"]),
        ("tensor", "no.npz#", []),
        ("tensor", "w.npz", ["files"]),
    ],
)
def test_zsh_offers_members_after_the_last_hash(kind: str, typed: str, expected: list[str]) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh")
    code = (
        f"compdef() {{}}; source {SCRIPTS}/gathercli.zsh\n"
        "compset() {}; _files() { print files }; compadd() { print -rl -- $names }\n"
        f"PREFIX=$1; _gathercli_{kind}"
    )

    process = subprocess.run(
        ["zsh", "-fc", code, "zsh", typed],
        env=environment(),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )

    assert [line for line in process.stdout.splitlines() if line] == expected
    assert process.stderr == ""


def test_bash_completes_the_lessons_and_their_numbers(tmp_path: Path) -> None:
    lessons = pytest.importorskip("gathercli.explain.demo").LESSONS
    names = [lesson.name for lesson in lessons]
    names += [str(number) for number in range(1, len(names) + 1)]

    assert completed("demo", "", folder=tmp_path) == names
    assert f"            '1:NAME:({' '.join(names)})' \\" in zsh_part("demo")


# zsh and fish


def zsh_part(command: str) -> list[str]:
    """Return the lines of the zsh script that complete a command."""
    lines = SCRIPT["zsh"].splitlines()
    start = lines.index(f"        {command}) _arguments \\")
    stop = next(at for at in range(start, len(lines)) if lines[at].endswith(";;"))
    return lines[start + 1 : stop + 1]


def test_zsh_names_the_command_it_completes_first() -> None:
    assert SCRIPT["zsh"].splitlines()[0] == "#compdef gathercli"


@every_command
def test_zsh_has_every_option_of_a_command_with_a_description(command: str) -> None:
    part = zsh_part(command)
    names = [match[1] for line in part if (match := re.match(r"\s+'(--?[\w-]+)=?\[[^\]]+\]", line))]

    assert names + HELP == options(command)
    assert part[-1].strip() == "'(-h --help)'{-h,--help}'[Show the options and exit.]' ;;"


@every_command
def test_zsh_continues_every_line_but_the_last_of_a_command(command: str) -> None:
    *lines, last = zsh_part(command)

    assert all(line.endswith("' \\") for line in lines)
    assert all(line.replace("'\\''", "").count("'") == 2 for line in lines)
    assert not last.endswith("\\")


@every_command
def test_zsh_and_fish_describe_every_command(command: str) -> None:
    summary = COMMANDS[command].help

    assert f"        '{command}:{summary}'\n" in SCRIPT["zsh"]
    assert f"-f -a {command} -d '{summary}'\n" in SCRIPT["fish"]


@pytest.mark.parametrize("command", FAMILIES)
def test_zsh_and_fish_have_the_versions_of_a_command(command: str) -> None:
    versions = " ".join(VERSIONS[command])

    assert sum(f":version:({versions})'" in line for line in zsh_part(command)) == 2
    assert sum(f" -s V -x -a '{versions}' " in line for line in fish_part(command)) == 1


def fish_part(command: str) -> list[str]:
    """Return the lines of the fish script that complete a command."""
    return [
        line
        for line in SCRIPT["fish"].splitlines()
        if re.match(rf"complete -c gathercli -n '[^']*\b{command}'", line)
    ]


@every_command
def test_fish_has_every_option_of_a_command(command: str) -> None:
    offers = []
    for line in fish_part(command):
        words = line.partition(" -d ")[0].split("'", 2)[2]
        offers += ["--" + name for name in re.findall(r" -l (\S+)", words)]
        offers += ["-" + name for name in re.findall(r" -s (\S+)", words)]

    assert sorted(offers + HELP) == sorted(options(command))


def test_zsh_and_fish_complete_the_files_of_a_batch() -> None:
    zsh, fish = zsh_part("batch"), fish_part("batch")
    assert "            '*:JOBS...:_files' \\" in zsh
    for option in ("report", "junit"):
        assert any(f"'--{option}=[" in line and ":_files'" in line for line in zsh)
        assert any(f" -l {option} " in line and " -r -d " in line for line in fish)
    for option in ("data", "indices", "output", "expect"):
        assert any(f"'--{option}=[" in line and ":_gathercli_tensor'" in line for line in zsh)
        assert any(f" -l {option} " in line and " -r -a " in line for line in fish)


def test_every_line_of_the_fish_script_is_a_comment_a_function_or_a_completion() -> None:
    first, *lines = SCRIPT["fish"].splitlines()
    assert first.startswith("# ")
    start = lines.index("complete -c gathercli -s h -l help -d 'Show the options and exit'")
    assert sum(line.startswith("function ") for line in lines[:start]) == lines.count("end") == 4
    assert all(line.startswith("complete -c gathercli -n ") for line in lines[start + 1 :])
    assert all(line.replace("'\\''", "").count("'") % 2 == 0 for line in lines)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_names_every_command(shell: str, run: Run) -> None:
    ran = run("completion", shell)

    assert (ran.status, ran.err) == (0, "")
    assert all(name in ran.out for name in COMMANDS)
    assert "--out-of-range" in ran.out or "-l out-of-range" in ran.out


def test_another_shell_is_a_usage_error_that_names_the_three(run: Run) -> None:
    for words in (["tcsh"], []):
        ran = run("completion", *words)
        assert ran.status == 2
        line = only_error(ran)
        assert "bash" in ran.err
        assert "fish" in ran.err
        assert "\\x0a" not in line
