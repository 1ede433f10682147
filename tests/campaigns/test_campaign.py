"""Each campaign runs; how long it goes on is up to who starts it."""

from __future__ import annotations

import pytest

from campaigns import __main__ as campaign


@pytest.mark.parametrize("name", campaign.CAMPAIGNS)
def test_a_trial_of_every_campaign_finds_nothing_wrong(name: str) -> None:
    outcome = campaign.CAMPAIGNS[name](1)

    assert outcome


def test_a_wrong_answer_ends_a_campaign_with_the_words_that_repeat_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def trial(seed: int) -> str:
        assert seed < 3
        return "answered"

    monkeypatch.setitem(campaign.CAMPAIGNS, "calls", trial)
    monkeypatch.setattr("sys.argv", ["campaign", "calls"])

    status = campaign.main()

    assert status == 1
    assert capsys.readouterr().out == "again: python -m campaigns calls --only 3\n"
