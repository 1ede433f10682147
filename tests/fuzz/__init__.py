"""Coverage-guided fuzzing of everything that reads what strangers wrote.

``python -m tests.fuzz npy --seconds 600`` fuzzes one target, ``python -m tests.fuzz all`` each in
turn; ``python -m tests.fuzz npy FILE`` runs a target on a file, without a fuzzer.
"""
