"""Tests of the diagnosis of outputs."""
