"""The completion scripts of the shells, from the declarations of commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gathercli.cli.declarations import Parameter
from gathercli.cli.generated import TOPICS
from gathercli.cli.registry import COMMANDS, OF_MODELS, command_of
from gathercli.frameworks import every_row
from gathercli.ops import FAMILIES, OPERATORS
from gathercli.spec.dtypes import DTYPES

_TEMPLATES: Final = Path(__file__).parent / "templates"
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


def _values(command: str, param: Parameter) -> list[str]:
    """List the values of an option or an argument."""
    if values := param.choices or tuple(param.known()):
        return list(values)
    if "--version" in param.names:
        families = [command] if command in FAMILIES else list(FAMILIES)
        rows = [op for op in OPERATORS if op.family in families]
        rows += [each.op for name in families for each in every_row(name)]
        return list(dict.fromkeys(op.id for op in rows))
    if param.metavar == "DTYPE":
        return [dtype.name for dtype in DTYPES]
    names = [op.full_name for op in OPERATORS] + [each.name for each in every_row()]
    return {
        "OP": list(FAMILIES),
        "[COMMAND]": [*COMMANDS, *TOPICS],
        "[ID]": names,
        "--op": list(FAMILIES),
        "--diff": names,
        "--like": [each.name for each in every_row()],
        "--ops": [*FAMILIES, *(op.full_name for op in OPERATORS)],
    }.get(param.names[0] if param.names else str(param.metavar), [])


def _options(command: str) -> list[Parameter]:
    options = command_of(command).options
    if command in OF_MODELS:  # the options of both forms, each once
        known = {each.names[0] for each in options}
        of_models = command_of(command, models=True).options
        options += [each for each in of_models if each.names[0] not in known]
    return options


def _arguments(command: str) -> list[Parameter]:
    return command_of(command).arguments


# The kind of name, a key of `completion.KINDS`, after ``#`` in the values of a metavar.
_NAMED: Final = {
    **dict.fromkeys((each.name.upper() for op in OPERATORS for each in op.inputs), "tensor"),
    **dict.fromkeys(("MORE...", "TENSOR", "PATTERN", "FILE...", "SRC... DEST"), "tensor"),
    "FILE#ID": "job",
}

_FILES: Final = ("PATH", "DIR", "FILE", "JOBS...")


def _first_argument(command: str) -> list[str]:
    """List the values of the first argument of a command."""
    return next((_values(command, param) for param in _arguments(command)), [])


def _template(shell: str, **values: Iterable[str]) -> str:
    """Fill the placeholders in the template of a shell's script with lines."""
    text = (_TEMPLATES / f"script.{shell}").read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: "\n".join(values[place[1]]), text)


def bash() -> str:
    """Return the script for bash, 3.2 included."""
    return _template(
        "bash",
        commands=[" ".join(COMMANDS)],
        second_values=_bash_second_values(),
        jobs=[_bash_jobs()],
        values=_bash_values(),
        options=_bash_options(),
    )


def _bash_second_values() -> Iterator[str]:
    """Yield lines that complete the second value of an option like its first."""
    for command in COMMANDS:
        for param in _options(command):
            for name in param.names if param.count == 2 else ():
                yield (
                    f'        if [[ "$command ${{COMP_WORDS[COMP_CWORD-2]}}" == '
                    f'"{command} {name}" ]]; then before={name}; fi'
                )


def _bash_jobs() -> str:
    """Return the case patterns of the options with a job as value."""
    patterns = [
        f'"{command} {name}"'
        for command in COMMANDS
        for param in _options(command)
        if _kind(param) == "job"
        for name in param.names
    ]
    return "|".join(patterns) or '""'  # which no words are


def _bash_values() -> Iterator[str]:
    for command in COMMANDS:
        for param in _options(command):
            if values := _values(command, param):
                cases = "|".join(f'"{command} {name}"' for name in param.names)
                yield f'            {cases}) words="{" ".join(values)}" ;;'
        if values := _first_argument(command):
            yield f'            "{command} {command}") words="{" ".join(values)}" ;;'


def _bash_options() -> Iterator[str]:
    for command in COMMANDS:
        names = [name for param in _options(command) for name in param.names] + ["-h", "--help"]
        yield f'                {command}) words="{" ".join(names)}" ;;'


def zsh() -> str:
    """Return the script for zsh."""
    commands = (f"        {_quoted(f'{name}:{each.help}')}" for name, each in COMMANDS.items())
    return _template("zsh", commands=commands, arguments=_zsh_arguments())


def _zsh_arguments() -> Iterator[str]:
    for command in COMMANDS:
        yield f"        {command}) _arguments \\"
        for option in _options(command):
            action = _zsh_action(command, option) if option.count else ""
            what = f"[{_brief(option.help)}]{action * option.count}"
            for name in option.names:
                yield f"            {_quoted(_zsh_name(name, option) + what)} \\"
        for at, param in enumerate(_arguments(command), 1):
            values = _values(command, param)
            action = f"({' '.join(values)})" if values else _zsh_files(param)
            if at == 1 and command in OF_MODELS:
                action = f"{{compadd {' '.join(values)}; _files}}"
            place, metavar = "*" if param.kind is list else at, _bare(str(param.metavar))
            yield f"            {_quoted(f'{place}:{metavar}:{action}')} \\"
        yield "            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;"


def _zsh_name(name: str, param: Parameter) -> str:
    """Return the name of an option, with ``=`` if its value may follow an equals sign."""
    return name if not param.count or not name.startswith("--") else f"{name}="


def _zsh_action(command: str, param: Parameter) -> str:
    values = _values(command, param)
    what = (param.metavar or "value").lower()
    if values:
        return f":{what}:({' '.join(values)})"
    return f":{what}:{_zsh_files(param)}" if _takes_file(param) else f":{what}: "


def _zsh_files(param: Parameter) -> str:
    kind = _kind(param)
    return f"_gathercli_{kind}" if kind else "_files"


def _kind(param: Parameter) -> str | None:
    """Return the kind of name after ``#`` in the values of a parameter, or None."""
    return _NAMED.get(_bare(param.metavar or ""))


def _bare(metavar: str) -> str:
    """Drop the brackets of an optional argument."""
    return metavar.replace("[", "").replace("]", "")


def _takes_file(param: Parameter) -> bool:
    return param.metavar in _FILES or _kind(param) is not None


def _brief(text: str) -> str:
    """Return the first sentence of a help text, without the brackets that zsh would parse."""
    return re.split(r"\.(?=\s|$)", text)[0].replace("[", "(").replace("]", ")")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """Return the script for fish."""
    return _template("fish", commands=_fish_commands())


def _fish_commands() -> Iterator[str]:
    start = "complete -c gathercli"
    for name, each in COMMANDS.items():
        yield f"{start} -n __fish_use_subcommand -f -a {name} -d {_quoted(each.help)}"
    for command in COMMANDS:
        here = f"{start} -n '__gathercli_in {command}'"
        for param in _options(command):
            yield f"{here} {_fish_option(command, param)}"
        for param in _options(command):
            if param.count == 2:
                words = _quoted(" ".join(_values(command, param)))
                yield f"{start} -n '__gathercli_second {command} {param.names[0]}' -f -a {words}"
        if values := _first_argument(command):
            words = _quoted(" ".join(values))
            no_files = "" if command in OF_MODELS else " -f"
            yield f"{start} -n '__gathercli_first {command}'{no_files} -a {words}"
        for kind in dict.fromkeys(filter(None, map(_kind, _arguments(command)))):
            yield f"{here} -a '(__gathercli_names {kind})'"


def _fish_option(command: str, param: Parameter) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in param.names
    )
    values = _values(command, param)
    takes = ""
    if values:
        takes = f" -x -a {_quoted(' '.join(values))}"
    elif param.count and _kind(param):
        takes = f" -r -a '(__gathercli_names {_kind(param)})'"
    elif param.count:
        takes = " -r" if _takes_file(param) else " -x"
    return f"{names}{takes} -d {_quoted(_brief(param.help))}"
