"""Each attack, played small: what it makes the gateway keep is bounded, and others go on."""

from pathlib import Path

import pytest
from faults.hostile import Attack, attacks, play

pytestmark = pytest.mark.alone
POLITE = 500  # units, about, of one message of the polite client; how many it sends takes time


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: str(attack.name))
def test_an_attack_takes_a_share_and_no_more(attack: Attack, tmp_path: Path) -> None:
    seen = play(attack, tmp_path, small=True)
    assert seen.alive
    assert seen.polite > 0
    assert seen.kept <= attack.kept_max
    assert (seen.refused > 0) == attack.refused
    assert not attack.queued_max or seen.queued <= attack.queued_max
    assert not attack.grown_max or seen.rss_most - seen.rss_before <= attack.grown_max
    assert seen.units >= attack.units_min
    assert not attack.units_max or seen.units - POLITE * seen.polite <= attack.units_max
    assert not attack.left_max or seen.left <= attack.left_max
