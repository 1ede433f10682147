"""What an operator version is; standard library only."""
