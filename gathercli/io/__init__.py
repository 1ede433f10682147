"""Bytes and text to tensors, and back: the only part that opens files."""
