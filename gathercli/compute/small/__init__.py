"""Small calls without NumPy, whose import takes longer than they do."""
