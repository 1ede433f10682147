"""Hostile files and words, a table for each subject."""

import pytest

pytest.register_assert_rewrite("tests.hostile.judge")
