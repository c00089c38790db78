"""SCRAM against Cyrus SASL: our client and a proton server, joined in memory."""

import os
import subprocess
import sys

import pytest
from interop.needed import needed

from gateway.amqp_1_0 import errors, events
from gateway.amqp_1_0.connection import Connection
from gateway.wire import scram
from gateway.wire.limits import Limits

NAME = "gateway-test"
USER = "someone@realm"
PASSWORD = "pencil, sharp=yes"

# Its own process: the library reads its configuration once.
MAKE_USER = """
import ctypes, sys
sasl = ctypes.CDLL("libsasl2.so.2")
name, password = (each.encode() for each in sys.argv[1:])
connection = ctypes.c_void_p()
assert sasl.sasl_server_init(None, name) == 0
made = sasl.sasl_server_new(
    b"amqp", None, b"realm", None, None, None, 0, ctypes.byref(connection)
)
assert made == 0
assert sasl.sasl_setpass(connection, b"someone", password, len(password), None, 0, 1) == 0
"""


@pytest.fixture(scope="module")
def configuration(tmp_path_factory):
    """A directory with the configuration of Cyrus SASL, and its database of one user."""
    needed("proton")
    directory = tmp_path_factory.mktemp("sasl")
    (directory / f"{NAME}.conf").write_text(
        "pwcheck_method: auxprop\n"
        "auxprop_plugin: sasldb\n"
        f"sasldb_path: {directory}/sasldb\n"
        "mech_list: SCRAM-SHA-256 SCRAM-SHA-512\n"
    )
    subprocess.run(
        [sys.executable, "-P", "-c", MAKE_USER, NAME, PASSWORD],
        env=os.environ | {"SASL_CONF_PATH": str(directory)},
        check=True,
        timeout=180,
    )
    return directory


def served(configuration):
    """A proton transport that authenticates clients, and its connection."""
    import proton

    transport = proton.Transport(proton.Transport.SERVER)
    sasl = transport.sasl()
    sasl.config_path(str(configuration))
    sasl.config_name(NAME)
    transport.require_auth(True)
    connection = proton.Connection()
    transport.bind(connection)
    connection.open()
    return transport, connection


def met(mechanism, password, configuration):
    """The events that our client has from it, and proton's transport."""
    client = Connection(
        server=False,
        container_id="client",
        limits=Limits(),
        now_ms=0,
        able=[scram.ScramClient(mechanism, USER, password, nonce="rOprNGfwEbeRWgbNEkqO")],
        hostname="localhost",
    )
    client.send_open()
    transport, _connection = served(configuration)
    found = []
    while octets := client.data_to_send():
        transport.push(octets)
        pending = transport.pending()
        if pending > 0:
            found += client.receive_data(bytes(transport.peek(pending)), 0)
            transport.pop(pending)
        if found and isinstance(found[-1], events.DerivationRequested):
            found.pop().derivation.run()
            client.send_derived()
    return found, transport


MECHANISMS = pytest.mark.parametrize("mechanism", [scram.SCRAM_SHA_256, scram.SCRAM_SHA_512])


@MECHANISMS
def test_cyrus_knows_us_by_scram_and_we_know_it(mechanism, configuration):
    found, transport = met(mechanism, PASSWORD, configuration)
    assert [type(event) for event in found] == [events.Authenticated, events.OpenReceived]
    assert transport.user == USER


@MECHANISMS
def test_cyrus_refuses_a_wrong_password(mechanism, configuration):
    found, transport = met(mechanism, "pencil", configuration)
    [violation] = found
    assert isinstance(violation.error, errors.SaslRefusedError)
    assert violation.error.code == 1  # auth: not a matter of the server
    assert not transport.authenticated
