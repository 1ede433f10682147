"""`diagnose`: what explains an output that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gathercli.cli.call import NamedCall, TensorOptions, TypeOptions
from gathercli.cli.declarations import INPUT, OUTPUT, Answer, Options, argument, flag, option
from gathercli.cli.options import TEXT_FORMAT, ToleranceOptions, tolerance, type_of
from gathercli.cli.slice_options import PictureOptions
from gathercli.errors import MismatchError, UsageError

if TYPE_CHECKING:
    from typing import Any

    from gathercli.compute.compare import Tolerance
    from gathercli.compute.tensor import Tensor
    from gathercli.io.source import Inputs
    from gathercli.spec.dtypes import DType


class DiagnosedTypes(TypeOptions):
    """The types of untyped tensors, of the output too."""

    wrong_dtype: str | None = option(INPUT, "--wrong-dtype", metavar="DTYPE", rare=True)


class DiagnosedTensors(TensorOptions):
    """The inputs of an operator, and its output."""

    types: DiagnosedTypes

    @classmethod
    def of(cls, command: str) -> type[Options]:
        """Return the group, whose last argument is the output."""
        text = (
            "The output, after further inputs: MAX_SEQ_LEN and END_TOKEN of gather-tree. The "
            "shape of another framework's output may differ."
        )
        outputs = argument("[MORE]... WRONG", text, kind=list, default=None)
        return super().of(command).with_options({"more": outputs})

    @property
    def words(self) -> list[Any]:
        """The arguments that are inputs."""
        return super().words[:-1] if self.more_words else super().words

    @property
    def more_words(self) -> list[str]:
        """The further inputs and the output, as typed."""
        return vars(self).get("more") or []

    @property
    def wrong(self) -> str:
        """The output, as typed."""
        if not self.more_words:
            raise UsageError(
                "is missing",
                subject="WRONG",
                expected="the output after the inputs",
                hint="`gathercli diagnose gather '[1,2,3]' '[0,5]' '[1,3]'`",
            )
        return self.more_words[-1]

    @property
    def beside(self) -> list[str]:
        """The output."""
        return [self.wrong]

    def read_wrong(self, inputs: Inputs, dtype: DType, tolerance: Tolerance) -> Tensor:
        """Read the output, untyped text as the type of the data if that can represent it."""
        from gathercli.compute.compare import read_expected
        from gathercli.io.formats.content import ElementTypes

        token, declared = self.wrong, type_of(vars(self.types).get("wrong_dtype"))
        if declared is not None:
            return inputs.tensor(token, "wrong", ElementTypes(declared, empty=declared))
        tensor = read_expected(
            lambda assumed: inputs.tensor(token, "wrong", ElementTypes(None, assumed, dtype)),
            dtype,
            tolerance,
        )
        if isinstance(tensor, MismatchError):
            return inputs.tensor(token, "wrong", ElementTypes(empty=dtype))
        return tensor


class DiagnosisOptions(ToleranceOptions):
    """The tolerances of elements that are taken for equal, and what to tell apart."""

    suggest: bool = flag(OUTPUT, "--suggest")
    rtol: float = tolerance("--rtol")
    atol: float = tolerance("--atol")


class DiagnosedCall(NamedCall):
    """A call with its output."""

    tensors: DiagnosedTensors


def run(
    call: DiagnosedCall, options: DiagnosisOptions, pictures: PictureOptions, fmt: str = TEXT_FORMAT
) -> Answer:
    """Find what explains the output, and return it as an answer."""
    del fmt  # the answer has both
    from gathercli.diagnose.diagnosis import DiagnosisReport, diagnose

    operator = call.operator
    attrs = {name: value for name, value in operator.attrs.typed.items() if value is not None}
    with pictures.opened() as saved, call.open() as opened:
        inputs = opened.inputs
        tensors = opened.read(inputs.tensor)
        with opened.context:
            wrong = call.tensors.read_wrong(inputs, tensors[0].dtype, options.tolerance)
            diagnosis = diagnose(
                opened.op,
                *tensors,
                wrong=wrong,
                tolerance=options.tolerance,
                negative=operator.negative,
                out_of_range=operator.out_of_range,
                suggest=options.suggest,
                progress=opened.progress,
                **attrs,
            )
            report = DiagnosisReport.of(diagnosis)
            report.draw(saved.files, pictures)
        inputs.recheck()
        saved.commit()
    return Answer.of(report, status=int(not diagnosis.is_whole), remarks=saved.remarks)
