"""Tests of the findings of models."""
