"""Mutation testing of bounds, normalisation, limits, the atomic writer and `clean`.

::

    python -m tests.mutation                        everything
    python -m tests.mutation io/write.py engine.py  these files

Cosmic Ray makes the mutants. Everything happens in copies of the repository that are removed at
the end. One run of the whole suite says which tests reach which line, in its own process or in
one that a test starts. Then each mutant is written to the disk of a copy and tried there in a
forked process, by the tests that reach its line, until one fails.
"""
