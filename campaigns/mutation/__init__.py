"""Mutation testing of bounds, normalisation, limits, the atomic writer and `clean`.

::

    python -m campaigns.mutation                        everything
    python -m campaigns.mutation io/write.py spec/      these files, and those of a folder
    python -m campaigns.mutation spec/ --sample 70 --seed 1 --measured reach --tests tests/spec

The last draws 70 mutants of the operators, each as likely, and tries them by these tests alone;
what they reach is kept, and `--tests none` measures nothing anew. Cosmic Ray makes the mutants;
`equivalent.py` names those that no test can notice. Everything happens in copies of the
repository that are removed at the end. One run of the tests says which tests reach which line,
in its own process or in one that a test starts. Then each mutant is written to the disk of a
copy and tried there in a forked process, by the tests that reach its line, until one fails.
"""
