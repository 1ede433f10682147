"""`model`: the Gather nodes of a model, and the verdict on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gathercli.cli.command import Options, argument, flag
from gathercli.cli.groups import INPUT, OUTPUT
from gathercli.cli.limits import MemoryOptions
from gathercli.cli.messages import Messages
from gathercli.cli.options import EXTERNAL_DATA, TEXT_FORMAT
from gathercli.report.terminal import print_text

if TYPE_CHECKING:
    from gathercli.models.graph import Model

FILE: Final = argument("FILE", "An ONNX model, or an OpenVINO .xml with its .bin beside.")


class ModelOptions(Options):
    """How models are read."""

    external_data: bool = EXTERNAL_DATA
    no_infer: bool = flag(
        INPUT,
        "--no-infer",
        help="Do not let the onnx package infer shapes that are not known.",
        rare=True,
    )

    def read(self, path: str, memory: MemoryOptions, messages: Messages) -> Model:
        """Read a model, and note what the reader has to say."""
        from gathercli.models import ReadOptions, read

        options = ReadOptions(
            external=self.external_data,
            infer=not self.no_infer,
            limit=memory.limits.memory,
            guarded=True,
        )
        model = read(path, options)
        messages.notes += model.notes
        return model


class ListOptions(Options):
    """What is listed."""

    every: bool = flag(OUTPUT, "--all", help="List the tensors that the model stores, too.")
    fmt: str = TEXT_FORMAT


def run(
    reading: ModelOptions,
    memory: MemoryOptions,
    options: ListOptions,
    messages: Messages,
    file: str = FILE,
) -> int:
    """List the nodes of a model."""
    from gathercli.io.descriptors import STDOUT
    from gathercli.models.lint import contradictions
    from gathercli.models.report import model_json, model_text
    from gathercli.models.verdict import judge
    from gathercli.report.terminal import wants_color, width_of

    model = reading.read(file, memory, messages)
    try:
        verdicts = []
        for node in model.nodes:
            verdict = judge(node)
            verdicts.append(verdict._replace(contradictions=tuple(contradictions(verdict))))
            node.forget()
        model.recheck()
    finally:
        model.close()
    if options.fmt == "json":
        print_text(model_json(model, verdicts, tensors=options.every))
    else:
        width, color = width_of(STDOUT), wants_color(messages.color, STDOUT)
        print_text(model_text(model, verdicts, tensors=options.every, width=width, color=color))
    messages.notes += dict.fromkeys(each.note for each in model.nodes if each.note)
    messages.print()
    return 0
