"""`explain` and `demo`, and the pictures that `check`, `compare` and `info` draw."""
