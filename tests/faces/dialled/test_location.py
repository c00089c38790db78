"""Where redirects lead, seen from where they were told."""

import pytest

from gateway.amqp_1_0.redirects import Redirect
from gateway.faces.dialled.location import Location

HERE = Location(network_host="a.example", port=5671, hostname="vhost", secure=True)


def test_what_is_not_told_is_as_it_is_here():
    assert HERE.redirected(Redirect(address="q", hostname="other")) is HERE
    there = HERE.redirected(Redirect(network_host="B.example"))
    assert (there.network_host, there.port, there.secure) == ("b.example", 5671, True)
    assert there.hostname == ""


@pytest.mark.parametrize(
    ("redirect", "same"),
    [
        (Redirect(network_host="A.Example"), True),
        (Redirect(network_host="a.example", port=5671, hostname="vhost"), True),
        (Redirect(network_host="a.example", hostname="another"), False),
        (Redirect(network_host="a.example", port=5672), False),
        (Redirect(network_host="b.example"), False),
    ],
)
def test_a_redirect_may_lead_to_where_we_are(redirect, same):
    assert HERE.redirected(redirect).is_at(HERE) == same


def test_it_is_written_as_operators_know_it():
    assert str(Location(network_host="a", port=1)) == "a:1"
    assert str(Location(network_host="a", port=1, hostname="a")) == "a:1"
    assert str(Location(network_host="::1", port=1, hostname="vhost:a")) == "[::1]:1 (vhost:a)"
