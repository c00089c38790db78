"""Who says so."""

import getpass

from gateway import __version__
from gateway.accounting.telling import ran


def test_it_is_told_who_ran_what_and_when() -> None:
    told = ran.here(1.0, 3.5, "stuck after 30 days")
    assert (told.began_s, told.ended_s, told.bounds) == (1.0, 3.5, "stuck after 30 days")
    assert " on " in told.who
    assert told.versions["amqp-gateway"] == __version__
    assert told.versions.keys() == {"amqp-gateway", "Spark", "Python"}


def test_a_user_without_a_name_is_not_known(monkeypatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert ran.here(0, 0, "").who.startswith("not known on ")
