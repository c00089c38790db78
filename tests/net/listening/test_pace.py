"""What comes too often has few lines, and the next says how many there were not."""

from gateway.net.listening.pace import PACE_MS, Pace


def test_there_are_so_many_a_second_and_then_how_many_there_were_not() -> None:
    now_ms = [0]
    pace = Pace(lambda: now_ms[0], 2)
    assert [pace.may_tell() for _ in range(5)] == [True, True, False, False, False]
    now_ms[0] = PACE_MS - 1
    assert not pace.may_tell()
    now_ms[0] = PACE_MS
    assert pace.may_tell()
    assert pace.more() == "; 4 more since the last such line"
    assert pace.may_tell()
    assert pace.more() == ""


def test_one_is_usual() -> None:
    pace = Pace(lambda: 0)
    assert [pace.may_tell() for _ in range(3)] == [True, False, False]
