import pytest
from support.upstream_world import UpstreamWorld


def test_the_back_off_doubles_up_to_its_maximum():
    settings = UpstreamWorld(back_off_min_ms=100, back_off_max_ms=1_000).upstream.context.settings
    assert [settings.back_off_ms(n) for n in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]
    assert settings.back_off_ms(10_000) == 1000


@pytest.mark.parametrize("draw", [0.0, 0.5, 0.999])
def test_chance_takes_away_up_to_half_of_the_back_off(draw):
    upstream = UpstreamWorld(back_off_min_ms=1_000).upstream
    upstream.context.settings.random = lambda: draw
    assert upstream.context.settings.back_off_ms(1) == 1_000 - int(1_000 * draw) // 2
