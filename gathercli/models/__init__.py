"""The Gather nodes of models: ONNX and OpenVINO IR, read without their frameworks.

::

    files.read(path, options)      ->  Model         every node of the family, its row, its inputs
    verdict.judge(node)            ->  NodeVerdict   what the version of a node says of it
    lint.findings(model, targets)  ->  Finding...    what is refused, filled, or changed by a target
"""
