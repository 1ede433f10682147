"""Coverage-guided fuzzing of everything that reads what strangers wrote.

``python -m campaigns.fuzz npy --seconds 600`` fuzzes one target, ``python -m campaigns.fuzz all``
each in turn; ``python -m campaigns.fuzz npy FILE`` runs a target on a file, without a fuzzer.
"""
