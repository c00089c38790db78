"""OAUTHBEARER against Kafka's server of it: no broker of 1.0 that we can install has one."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest
from interop import installed
from interop.needed import needed

from gateway.wire.bearer import oauthbearer
from gateway.wire.sasl import MessageClient

TOKEN = "abc.DEF-_~+/=="
OWNER = "gateway"

Serve = Callable[[MessageClient], str]


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """``serve(client)``: the server's last word to it."""
    needed("kafka")
    source = installed.HERE / "peers/kafka/OauthBearerServer.java"
    options = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m"]
    command = ["java", *options, "-cp", f"{installed.KAFKA}/*", str(source), TOKEN, OWNER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        write, read = server.stdin, server.stdout

        def serve(client: MessageClient) -> str:
            response = client.initial()
            write.write("\n")
            while True:
                assert response is not None
                write.write(f"{response.hex()}\n")
                write.flush()
                word, _, more = read.readline().strip().partition(" ")
                if word != "challenge":
                    return word
                response = client.respond(bytes.fromhex(more))

        yield serve
        write.close()


@pytest.mark.parametrize(
    "client",
    [
        oauthbearer(TOKEN),
        oauthbearer(TOKEN, authorization=OWNER),
        oauthbearer(TOKEN, host="broker.example", port=5671),
    ],
    ids=["alone", "for somebody", "for a host"],
)
def test_a_token_is_taken(serve: Serve, client: MessageClient) -> None:
    assert serve(client) == "done"
    assert client.complete(None)


def test_a_token_that_is_not_taken_is_a_reason_and_then_an_end(serve: Serve) -> None:
    client = oauthbearer("another")
    assert serve(client) == "failed"
    assert json.loads(client.problem())["status"] == "invalid_token"
    assert not client.complete(None)


def test_a_token_of_somebody_else_is_not_taken(serve: Serve) -> None:
    assert serve(oauthbearer(TOKEN, authorization="somebody=else,")) == "failed"
