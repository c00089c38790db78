"""From when till when the certificate that clients are shown is good."""

import datetime
import pathlib

from support.certificates import DAY, Authority

from gateway.net.tls.validity import NO_TIME, expires_s, out_of_date


def now_s() -> float:
    return datetime.datetime.now(datetime.UTC).timestamp()


def test_each_certificate_of_the_file_is_told_that_is_not_good_at_a_moment(
    tmp_path: pathlib.Path,
) -> None:
    authority = Authority(tmp_path)
    short, _key = authority.issue("short", lasts=DAY)
    long, _key = authority.issue("long", lasts=3 * DAY)
    short.write_bytes(short.read_bytes() + long.read_bytes())
    day_s = DAY.total_seconds()
    assert out_of_date(short, now_s()) == []
    assert abs(expires_s(short) - now_s() - day_s) < 60
    (line,) = out_of_date(short, now_s() + 2 * day_s)
    assert line.startswith("'short' has expired (2")
    assert line.endswith(" UTC): clients that check it do not connect")
    assert len(out_of_date(short, now_s() + 4 * day_s)) == 2
    early = out_of_date(short, now_s() - 30 * day_s)
    assert [line.partition(" (from")[0] for line in early] == [
        "'short' is not valid yet",
        "'long' is not valid yet",
    ]


def test_nothing_is_said_of_a_file_without_any(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "none.pem"
    assert expires_s(file) == NO_TIME
    file.write_text("nothing")
    assert (expires_s(file), out_of_date(file, now_s())) == (NO_TIME, [])
