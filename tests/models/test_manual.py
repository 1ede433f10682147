"""What the manual says of targets."""

from __future__ import annotations

from gathercli.models.targets import target_names
from man.models import targets_table


def test_the_table_has_a_row_for_each_target() -> None:
    headings, rows = targets_table()

    assert [row[0] for row in rows] == [f"`{name}`" for name in target_names()]
    assert {len(row) for row in rows} == {len(headings)}
