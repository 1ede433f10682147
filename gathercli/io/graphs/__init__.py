"""Graphs of ONNX and of OpenVINO IR, and tensors in them, read and written without a package."""
