"""Bytes and text to tensors, and back; safe on any file."""
