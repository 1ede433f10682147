"""The targets of translations."""

from __future__ import annotations

from gathercli.translate.targets import TARGET_FRAMEWORKS, TARGET_NAMES


def test_no_framework_has_an_older_target_before_a_newer_one() -> None:
    versions: dict[str, list[int]] = {}
    for name in TARGET_NAMES:
        framework, _, version = name.partition("-")
        versions.setdefault(framework, []).append(int(version or 0))

    assert list(versions) == list(TARGET_FRAMEWORKS)
    assert all(each == sorted(each, reverse=True) for each in versions.values())
