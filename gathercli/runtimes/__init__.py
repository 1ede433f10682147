"""Calls in other runtimes, such as OpenVINO and PyTorch, each in a process of its own."""
