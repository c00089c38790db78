"""`ctl sessions` and `ctl end`."""

import json
from typing import Any

import pytest
from support.face_1_0 import Client, Hub, body_of, message
from support.talk_0_10 import Gateway

from gateway.amqp_1_0 import _spec
from gateway.errors import ConfigurationError
from gateway.faces.leaving import DELIVERY_OCTETS, KeptSessions
from gateway.faces.server_1_0.suspended import SUSPENDED_OCTETS
from gateway.net.admin.sessions import end, sessions


def told(kept: KeptSessions, now_ms: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(sessions(kept, lambda: now_ms)))["sessions"]
    return found


def lose(client: Client) -> None:
    client.face.receive_eof(client.hub.world.now_ms)
    client.hub.clients.remove(client)
    client.hub.world.turn()


def suspended(hub: Hub, *, timeout: int = 60) -> Client:
    """A client that has sent two messages and received them, by links that last."""
    hub.world.queue("q")
    client = hub.client("app")
    session = client.session()
    sender = session.attach("out", _spec.SENDER)
    target = _spec.Target(address="q", timeout=timeout)
    sender.send_attach(source=_spec.Source(address="here"), target=target)
    client.step()
    for tag in (b"1", b"2"):
        client.send(sender, message(tag), tag=tag)
    client.receiver("q", name="in", timeout=timeout)
    assert len(client.received()) == 2
    return client


def test_suspended_links_are_told() -> None:
    hub = Hub()
    lose(suspended(hub))
    receiver, sender = told(hub.settings.kept, hub.world.now_ms + 10_000)
    whose = {
        "virtual_host": "/",
        "user": "",
        "container": "app",
        "connection": 1,
        "address": "127.0.0.1:1",
        "node": "q",
        "away_s": 10,
        "left_s": 50,
        "unsettled": 2,
        "octets": SUSPENDED_OCTETS + 2 * DELIVERY_OCTETS,
    }
    assert {each.pop("number") for each in (receiver, sender)} == set(hub.settings.kept.absent)
    kinds = sorted([receiver, sender], key=lambda each: each["kind"])
    assert kinds == [
        {"kind": "receiver", "name": "in"} | whose,
        {"kind": "sender", "name": "out"} | whose,
    ]
    hub.settings.kept.end_all()
    hub.end()


def test_a_link_whose_time_has_not_begun_has_no_end() -> None:
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    link = client.session().attach("out", _spec.SENDER)
    target = _spec.Target(address="q", timeout=60)
    link.send_attach(source=_spec.Source(address="here"), target=target)
    client.step()
    client.send(link, message(b"1"), tag=b"1")
    link.send_detach(closed=False)
    client.step()
    assert [each["left_s"] for each in told(hub.settings.kept, hub.world.now_ms)] == [None]
    lose(client)
    assert [each["left_s"] for each in told(hub.settings.kept, hub.world.now_ms)] == [60]
    hub.settings.kept.end_all()
    hub.end()


def test_an_operator_ends_a_link_and_what_it_held_goes_back() -> None:
    hub = Hub()
    lose(suspended(hub))
    kept = hub.settings.kept
    found = {each["kind"]: each["number"] for each in told(kept, hub.world.now_ms)}
    done = end(kept, found["receiver"])
    assert done == (
        "the link, a receiver, 'in' of a client without a login from 127.0.0.1:1 is over"
    )
    hub.world.turn()
    other = hub.client("other")
    other.receiver("q")
    assert [body_of(each) for each in other.received()] == [b"1", b"2"]
    end(kept, found["sender"])
    assert told(kept, hub.world.now_ms) == []
    with pytest.raises(ConfigurationError, match="there is none without a connection"):
        end(kept, found["sender"])
    hub.end()


def test_a_session_of_0_10_is_told_and_ended() -> None:
    gateway = Gateway()
    client = gateway.client("ann")
    client.attach(b"mine")
    client.session.request_timeout(60)
    client.session.keep_state()
    client.hears()
    client.loses_transport()
    kept = gateway.settings.kept
    (found,) = told(kept, gateway.world.now_ms)
    shown = {key: found[key] for key in ("kind", "name", "user", "node", "unsettled", "left_s")}
    assert shown == {
        "kind": "session",
        "name": "mine",
        "user": "ann",
        "node": "",
        "unsettled": 0,
        "left_s": 60,
    }
    assert end(kept, found["number"]).startswith("the session 'mine' of user ann from ")
    assert told(kept, gateway.world.now_ms) == []
