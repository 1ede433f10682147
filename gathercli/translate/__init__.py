"""A call in another framework, as code or as a graph that means the same.

::

    lowered(call, target)  ->  Program  ->  .onnx, .xml, .py
    prove(...)             ->  outcomes   what the files compute, beside what the version says
"""
