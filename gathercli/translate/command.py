"""`translate`: the call in another framework, as code or as a graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from gathercli.cli.call import NamedCall
from gathercli.cli.declarations import OUTPUT, REQUIRED, Answer, Options, option
from gathercli.cli.options import NO_CLOBBER, TEXT_FORMAT
from gathercli.cli.slice_options import RuntimeOptions, absence_notes
from gathercli.errors import Hint, UsageError
from gathercli.io.write import Output, unwritable
from gathercli.report.terminal import rendered
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import clean, listed, shell_word
from gathercli.translate.targets import target, target_frameworks, target_names

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.translate.proof import TranslationReport
    from gathercli.translate.targets import TranslationTarget
    from gathercli.translate.translation import Translation

# The most elements of all calls of a proof: fewer calls are made of large tensors.
MOST_CELLS: Final = 20_000_000


class TranslationOptions(Options):
    """The target, and the file."""

    to: str = option(
        OUTPUT,
        "--to",
        metavar="TARGET",
        choices=target_names(),
        default=REQUIRED,
        help=f"The framework: {listed(target_frameworks().values())}; "
        "onnx and openvino without an opset are the newest.",
    )
    output: str | None = option(
        OUTPUT,
        "--output",
        "-o",
        metavar="PATH",
        help="Write it to a file: .onnx, .xml with its .bin, or .py; without it the text is "
        "printed.",
        once=True,
    )
    no_clobber: bool = NO_CLOBBER

    def target(self) -> TranslationTarget:
        """Return the target; raise for a file whose suffix is another's."""
        chosen = target(self.to)
        if self.output is None:
            return chosen
        stem, suffix = os.path.splitext(self.output)
        if self.output == "-":
            raise UsageError(
                f"is `-`, and the translation to {chosen.name} is written to "
                f"{chosen.suffix} files only",
                subject="-o",
                value=self.output,
                expected="the name of one",
                hint="without `-o` its text goes to stdout",
            )
        if suffix.lower() != chosen.suffix:
            raise UsageError(
                f"is `{clean(self.output)}`, and the translation to {chosen.name} is a "
                f"{chosen.suffix} file",
                subject="-o",
                value=self.output,
                expected="that suffix",
                instead=(stem + chosen.suffix,),
            )
        return chosen

    def write(self, translation: Translation) -> list[str]:
        """Write the files, the main one last; return their names, the main one first."""
        from contextlib import ExitStack

        if self.output is None:
            return []
        stem = os.path.splitext(self.output)[0]
        paths = {
            self.output if suffix == translation.target.suffix else stem + suffix: content
            for suffix, content in translation.files.items()
        }
        for path in paths:
            if os.path.lexists(path) and not os.path.lexists(self.output):  # the weights of another
                why = f"it exists without `{clean(self.output)}`, whose weights it would have"
                raise unwritable(path, why, "another name")
        with ExitStack() as stack:
            outputs = [
                (stack.enter_context(Output(path, no_clobber=self.no_clobber)), content)
                for path, content in paths.items()
            ]
            for each, content in outputs:
                each.open(len(content))
                each.stream.write(content)
            for each, _ in reversed(outputs):
                each.commit()
        return list(paths)


def run(
    call: NamedCall,
    options: TranslationOptions,
    runtimes: RuntimeOptions,
    fmt: str = TEXT_FORMAT,
) -> Answer:
    """Translate the call, prove it, and return the text or write the files."""
    del fmt  # the answer has both

    target = options.target()
    _check_runtimes(target, runtimes)
    with call.open() as opened:
        bound = opened.bound()
        with opened.context:
            for most in (call.memory.limits.result, call.memory.limits.memory):
                bound.check_size(most)
            report = _translated(bound, target, options, runtimes)
        opened.inputs.recheck()
    allowed = runtimes.allow_absent
    status = int(bool(report.absences) and not allowed)
    answer = _answer(report, quiet=call.messages.quiet, allow_absent=allowed)
    return answer._replace(status=status)


def _check_runtimes(target: TranslationTarget, runtimes: RuntimeOptions) -> None:
    """Raise if a runtime does not run the target."""
    for each in runtimes.chosen():
        if each.name not in target.runtimes:
            raise UsageError(
                f"names `{each.name}`, which does not run {target.name}",
                subject="--with",
                value=each.name,
                expected=listed(target.runtimes),
                instead=(target.runtimes[0],),
            )


def _check_source(bound: BoundCall) -> None:
    """Raise for a call of a framework that no program repeats: they fill with zeros alone."""
    op, outside = bound.call.op, bound.call.outside
    if bound.changes_inputs or (op.adapts and op.adapts.broadcasts):
        raise UsageError(
            f"{op} changes its inputs before it gathers, and translations do not",
            value=op.id,
            expected="a version that takes them as they are",
            hint=f"`gathercli ops --like {shell_word(op.full_name)}` names the nearest version",
        )
    if outside in (OutOfRange.NAN, OutOfRange.EXTREME, OutOfRange.UNDEFINED):
        raise UsageError(
            f"of {op} is `{outside.value}`, which no translation repeats",
            subject="--out-of-range",
            value=outside.value,
            expected="error, zero, clamp or wrap",
            hint=Hint("{out_of_range} is an example", out_of_range="zero"),
        )


def _translated(
    bound: BoundCall,
    target: TranslationTarget,
    options: TranslationOptions,
    runtimes: RuntimeOptions,
) -> TranslationReport:
    from gathercli.translate.proof import MADE_CALLS, TranslationReport, calls_of, prove
    from gathercli.translate.running import known_notes, run_in
    from gathercli.translate.translation import translated

    _check_source(bound)
    translation = translated(bound.call, target)
    cells = sum(product(each.shape) for each in bound.tensors.values()) + product(bound.shape)
    most = MADE_CALLS if translation.any_size else MOST_CELLS // max(1, cells)
    calls = list(calls_of(translation, bound, max(1, min(MADE_CALLS, most))))
    proof = prove(translation, calls)
    with runtimes.started() as processes:
        seen = [run_in(process, translation, calls) for process in processes.present]
        absences = processes.absences
    known = [] if seen else known_notes(translation, calls[0])
    return TranslationReport(translation, proof, seen, absences, known, options.write(translation))


def _answer(report: TranslationReport, *, quiet: bool, allow_absent: bool) -> Answer:
    from gathercli.translate.proof import runtime_lines, translation_json, translation_text

    def text(width: int | None, color: bool) -> str:
        if report.paths and quiet:
            return ""
        return rendered(translation_text(report, width), color=color)

    notes = (
        *runtime_lines(report),
        *report.notes,
        *absence_notes(report.absences, allowed=allow_absent),
    )
    remarks = tuple(f"wrote {clean(path)}" for path in report.paths)
    if report.paths:
        return Answer(text, lambda: translation_json(report), remarks=remarks)
    plain = report.translation.text
    return Answer(text, lambda: translation_json(report), plain, notes=notes, text_has_notes=True)
