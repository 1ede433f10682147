"""ONNX: the wire format, tensors, graphs, read and written without its package."""
