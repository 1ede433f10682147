"""`translate`: the call in another framework, as code or as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.cli.call import NamedCall
from gathercli.cli.declarations import OUTPUT, REQUIRED, Answer, Options, option
from gathercli.cli.options import NO_CLOBBER, TEXT_FORMAT
from gathercli.cli.slice_options import RuntimeOptions, absence_notes
from gathercli.errors import Hint, UsageError
from gathercli.spec.op import OutOfRange
from gathercli.spec.shapes import product
from gathercli.text import clean, listed, shell_word
from gathercli.translate.targets import TranslationTarget, target, target_frameworks, target_names

if TYPE_CHECKING:
    from gathercli.compute.bound import BoundCall
    from gathercli.translate.proof import ProvedTranslation

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
    output: str | None = option(OUTPUT, "--output", "-o", metavar="PATH", once=True)
    no_clobber: bool = NO_CLOBBER

    def target(self) -> TranslationTarget:
        """Return the target; raise for a file whose suffix is another's."""
        chosen = target(self.to)
        if self.output is not None:
            chosen.check_path(self.output, "-o")
        return chosen


def run(
    call: NamedCall, options: TranslationOptions, runtimes: RuntimeOptions, fmt: str = TEXT_FORMAT
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
            found = proved(bound, target, runtimes)
            if options.output is not None:
                paths = found.translation.write(options.output, no_clobber=options.no_clobber)
                found = found._replace(paths=paths)
        opened.inputs.recheck()
    allowed = runtimes.allow_absent
    answer = _answer(found, quiet=call.messages.quiet, allow_absent=allowed)
    return answer._replace(status=int(bool(found.absences) and not allowed))


def _check_runtimes(target: TranslationTarget, runtimes: RuntimeOptions) -> None:
    for each in runtimes.chosen():
        if each.name not in target.runtimes:
            what = f"names `{each.name}`, which does not run {target.name}"
            known, near = listed(target.runtimes), (target.runtimes[0],)
            raise UsageError(what, subject="--with", value=each.name, expected=known, instead=near)


def _check_source(bound: BoundCall) -> None:
    """Raise for a call of a framework that no program repeats: they fill with zeros alone."""
    op, outside = bound.call.op, bound.call.outside
    if bound.changes_inputs or (op.adapts and op.adapts.broadcasts):
        what = f"{op} changes its inputs before it gathers, and translations do not"
        expected = "a version that takes them as they are"
        hint = f"`gathercli ops --like {shell_word(op.full_name)}` names the nearest version"
        raise UsageError(what, value=op.id, expected=expected, hint=hint)
    if outside in (OutOfRange.NAN, OutOfRange.EXTREME, OutOfRange.UNDEFINED):
        name, what = "--out-of-range", f"of {op} is `{outside.value}`, which no translation repeats"
        expected = "error, zero, clamp or wrap"
        hint = Hint("{out_of_range} is an example", out_of_range="zero")
        raise UsageError(what, subject=name, value=outside.value, expected=expected, hint=hint)


def proved(
    bound: BoundCall, target: TranslationTarget, runtimes: RuntimeOptions
) -> ProvedTranslation:
    """Translate a call and prove that the translation means the same."""
    from gathercli.translate.proof import MADE_CALLS, ProvedTranslation, calls_of, prove
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
    return ProvedTranslation(translation, proof, seen, absences, known)


def _answer(found: ProvedTranslation, *, quiet: bool, allow_absent: bool) -> Answer:
    from gathercli.translate.proof import TranslationReport, runtime_lines

    absent = absence_notes(found.absences, allowed=allow_absent)
    notes = (*runtime_lines(found), *found.notes, *absent)
    answer = Answer.of(TranslationReport.of(found))
    if not found.paths:
        return answer._replace(plain=found.translation.text, notes=notes, text_has_notes=True)
    remarks = tuple(f"wrote {clean(path)}" for path in found.paths)
    text = (lambda *_: "") if quiet else answer.text
    return answer._replace(text=text, remarks=remarks)
