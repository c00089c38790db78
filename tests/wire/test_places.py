"""Where else there are containers."""

from gateway.wire.places import NOWHERE, Place


def test_an_address_of_ipv6_stands_in_brackets():
    assert str(Place(False, "::1", 5672)) == "[::1]:5672"
    assert str(Place(True, "b.example", 5671)) == "b.example:5671"


def test_nowhere_is_nobody_sent():
    assert NOWHERE.redirect is None
    assert NOWHERE.known == []
