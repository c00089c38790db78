import pytest

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error
from gateway.amqp_1_0.redirects import Redirect, redirect_of
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


def test_other_errors_are_no_redirects():
    assert redirect_of(None) is None
    assert redirect_of(Error(condition="amqp:not-found")) is None
