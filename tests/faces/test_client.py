"""What sessions of a connection have in common: who it is, whether there is room, the counts."""

from __future__ import annotations

import pytest
from support.bridge_world import World

from gateway.audit.schema import Reason
from gateway.faces.client import Client, is_own
from gateway.faces.face import Face, FaceSettings, Peer
from gateway.message import Encoding
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked
from gateway.translate.facts import Arrival
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

PROTOCOL = int(Encoding.AMQP_1_0)


class Connection:
    """A connection as far as `Client` knows it."""

    def __init__(self) -> None:
        self.world = World(hosts=["/", "test"])
        self.settings = FaceSettings(
            limits=Limits(), container_id="gateway", federation_tag="f" * 8, version="1"
        )
        self.touched: list[object] = []
        self.client = Client(
            self.world.bridge,
            self,
            Peer(7, "10.0.0.1"),
            self.settings,
            Encoding.AMQP_1_0,
            Account(),
            face=self,  # type: ignore[arg-type]  # only handed back to `touch`
            slowed=self,
            reviewed=self,
        )

    def touch(self, face: Face) -> None:
        self.touched.append(face)

    def on_doubt(self) -> None:
        raise AssertionError("nothing is held")

    def on_rules_changed(self, now_ms: int) -> None:
        raise AssertionError("there are no rules")


@pytest.mark.parametrize(
    ("user_id", "identity", "own"),
    [
        (b"joe", "joe", True),
        (b"joe@realm", "joe@realm", True),
        (b"joe@realm", "joe", True),
        (b"joe@any", "joe", False),
        (b"joe@other", "joe", False),
        (b"jim", "jim@realm", False),
        (b"ann@realm", "joe", False),
        (b"joe@other", "joe@realm", False),
        (b"joe", "joe@realm", True),
        (b"ann", "joe", False),
        (b"", "joe", False),
        (b"\xff", "joe", False),
    ],
)
def test_a_user_id_is_ones_own_with_or_without_a_realm(
    user_id: bytes, identity: str, own: bool
) -> None:
    assert is_own(user_id.decode("utf-8", "replace"), identity, "realm", Others()) is own


class Others:
    """Who else there is."""

    def has(self, name: str) -> bool:
        return name in ("joe@other", "jim")


def claiming(user_id: bytes | None) -> Arrival:
    arrival = Arrival()
    arrival.user_id = user_id
    return arrival


def test_who_is_anonymous_may_claim_any_user_id_and_others_their_own() -> None:
    client = Connection().client
    assert client.may_claim(claiming(b"ann"))
    client.visit.mechanism = "PLAIN"
    client.on_authenticated("joe")
    assert client.may_claim(claiming(b"joe"))
    assert client.may_claim(claiming(None))
    assert not client.may_claim(claiming(b"ann"))
    client.visit.mechanism = "ANONYMOUS"
    client.on_authenticated("anonymous")
    assert client.may_claim(claiming(b"ann"))


def test_the_face_is_touched_once_until_it_is_flushed() -> None:
    connection = Connection()
    client = connection.client
    client.touch()
    client.touch()
    assert connection.touched == [connection]
    client.on_flushed()
    client.touch()
    assert connection.touched == [connection, connection]


def test_what_is_still_told_to_a_connection_that_has_left_nobody_hears() -> None:
    connection = Connection()
    client = connection.client
    client.on_authenticated("joe")
    assert client.ask_for(client.host) is None
    client.leave()
    client.touch()
    client.author.connection.touch()
    client.room.go_on()
    client.doubt.hold(connection.settings.limits.octets_in_doubt_max)
    client.access.on_rules_changed()
    assert connection.touched == []


def test_a_connection_that_has_left_may_nothing() -> None:
    client = Connection().client
    publish = Asked(Action.PUBLISH, ObjectKind.QUEUE, "q")
    assert client.access.may(publish)
    client.leave()
    assert not client.access.may(publish)


def test_translations_know_the_host_that_was_opened_and_the_time() -> None:
    connection = Connection()
    client = connection.client
    host = connection.world.bridge.hosts["test"]
    client.on_opened(host)
    context = client.context()
    assert context.nodes is client.nodes
    assert client.nodes.host is host
    connection.world.bridge.now_ms += 5
    assert client.context() is context
    assert context.now_ms == connection.world.bridge.now_ms


def test_what_never_opened_is_not_counted_as_closed() -> None:
    refused = Connection()
    refused.client.on_closed(Reason.CONNECTION_LOST)
    assert refused.settings.counts.connections_closed[PROTOCOL] == 0
    connection = Connection()
    counts = connection.settings.counts
    connection.client.on_opened(connection.world.host)
    connection.client.on_closed(Reason.NONE)
    assert (counts.connections_opened[PROTOCOL], counts.connections_closed[PROTOCOL]) == (1, 1)


def test_links_and_failures_are_counted_by_protocol() -> None:
    connection = Connection()
    client = connection.client
    counts = connection.settings.counts
    client.on_link(opened=True)
    client.on_link(opened=False)
    client.on_authenticated(None)
    client.on_violation("rule")
    assert counts.links_opened == counts.links_closed == [0, 1]
    assert counts.authentication_failures == counts.protocol_errors == [0, 1]
    assert client.identity == ""


def test_who_has_not_opened_is_nobody_for_those_who_look_for_whose_work_it_was() -> None:
    connection = Connection()
    client = connection.client
    client.identity = "anonymous"
    assert client.doing("OpenReceived") == "before it has opened: OpenReceived"
    client.on_opened(connection.world.bridge.hosts["test"])
    assert client.doing("AttachReceived") == "user 'anonymous': AttachReceived"
