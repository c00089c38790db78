import pytest

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.redirects import Redirect, link_redirect_of, redirect_error, redirect_of
from gateway.wire.places import Place
from gateway.wire.tagged import Tagged


@pytest.mark.parametrize("condition", ["amqp:connection:redirect", "amqp:link:redirect"])
def test_a_redirect_tells_where_to_go(condition):
    info = {
        "hostname": Tagged(types.STRING, "virtual"),
        "network-host": Tagged(types.SYMBOL, "10.0.0.1"),
        "port": Tagged(types.UINT, 5671),
        "address": Tagged(types.STRING, "queue"),
    }
    assert redirect_of(Error(condition=condition, info=info)) == Redirect(
        hostname="virtual", network_host="10.0.0.1", port=5671, address="queue"
    )


@pytest.mark.parametrize(
    "info",
    [
        None,
        {"hostname": Tagged(types.NULL, None), "port": Tagged(types.STRING, "5672")},
        {"port": Tagged(types.UINT, 70000), "address": Tagged(types.BOOLEAN, True)},
        {"port": Tagged(types.BOOLEAN, True)},
    ],
)
def test_what_is_missing_or_makes_no_sense_is_left_out(info):
    assert redirect_of(Error(condition="amqp:link:redirect", info=info)) == Redirect()


def test_what_we_tell_of_another_place_is_read_as_it_was_meant():
    error = redirect_error("virtual", Place(False, "10.0.0.1", 5673), "go there")
    assert (error.condition, error.description) == ("amqp:connection:redirect", "go there")
    assert redirect_of(error) == Redirect(hostname="virtual", network_host="10.0.0.1", port=5673)


def test_other_errors_are_no_redirects():
    assert redirect_of(None) is None
    assert redirect_of(Error(condition="amqp:not-found")) is None


def told(**info):
    """A link redirect with these strings, or tagged values."""
    return Error(
        condition="amqp:link:redirect",
        info={
            key.replace("_", "-"): value
            if isinstance(value, Tagged)
            else Tagged(types.STRING, value)
            for key, value in info.items()
        },
    )


@pytest.mark.parametrize(
    ("error", "redirect"),
    [
        (told(address="q"), Redirect(address="q")),
        (told(network_host="h"), Redirect(network_host="h")),
        (
            told(network_host="::1", port=Tagged(types.NULL, None), hostname="vhost:a"),
            Redirect(network_host="::1", hostname="vhost:a"),
        ),
    ],
)
def test_a_link_may_be_told_an_address_or_a_host(error, redirect):
    assert link_redirect_of(error) == redirect


@pytest.mark.parametrize(
    "error",
    [
        None,
        Error(condition="amqp:connection:redirect", info=told(network_host="h").info),
        Error(condition="amqp:link:redirect"),
        told(hostname="h"),
        told(address=""),
        told(address=Tagged(types.UINT, 1), network_host="h"),
        told(network_host=""),
        told(network_host="h" * 256),
        told(network_host="a b"),
        told(network_host="h", hostname="a\nb"),
        told(network_host="h", port=Tagged(types.UINT, 0)),
        told(network_host="h", port=Tagged(types.UINT, 70_000)),
    ],
)
def test_a_link_is_not_redirected_by_what_is_not_told_as_it_should_be(error):
    assert link_redirect_of(error) is None
