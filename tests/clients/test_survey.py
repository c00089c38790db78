"""What `check --connect` asks a peer, and what it makes of the answers."""

from __future__ import annotations

from support.net import Wire
from twisted.internet.task import Clock

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0.connection import Connection
from gateway.clients.probe import Probe, Question
from gateway.clients.survey import Finding, Node, lacks
from gateway.translate.profile import Profile
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


class Peer:
    """A container that has the address "there", refuses "away" and ends the session over "ugly"."""

    def __init__(self, questions: list[Question]) -> None:
        self.clock = Clock()
        self.connection = Connection(
            server=True,
            container_id="peer",
            limits=Limits(),
            now_ms=0,
            mechanisms=["ANONYMOUS"],
        )
        ours = Connection(
            server=False,
            container_id="gateway-check",
            limits=Limits(),
            now_ms=0,
            able=[],
            hostname=None,
        )
        self.probe = Probe(ours, None, questions, self.clock, lambda: 0)
        self.wire = Wire()
        self.wire.protocol = self.probe
        self.probe.makeConnection(self.wire)
        self.silent: set[str] = set()

    def talk(self) -> None:
        while True:
            data = self.wire.value()
            self.wire.clear()
            for event in self.connection.receive_data(data, 0):
                self._react(event)
            answer = self.connection.data_to_send()
            if not answer and not data:
                return
            if answer:
                self.probe.dataReceived(answer)

    def _react(self, event: events.Event) -> None:
        if isinstance(event, events.OpenReceived):
            self.connection.send_open(
                properties={
                    "product": Tagged(types.STRING, "Some Broker"),
                    "version": Tagged(types.STRING, "1.2"),
                },
                offered_capabilities=["DELAYED_DELIVERY"],
            )
        elif isinstance(event, events.BeginReceived):
            event.session.send_begin()
        elif isinstance(event, events.AttachReceived):
            self._on_attach(event)
        elif isinstance(event, events.EndReceived):
            event.session.send_end()

    def _on_attach(self, event: events.AttachReceived) -> None:
        attach = event.attach
        terminus = attach.source if attach.role else attach.target
        address = getattr(terminus, "address", "coordinator")
        error = _spec.Error(condition="amqp:not-found", description="no such node")
        if address == "away":
            event.link.refuse(error)
        elif address == "ugly":
            event.link.session.send_end(error=error)
        elif address not in self.silent:
            event.link.send_attach(source=attach.source, target=attach.target)


def test_each_address_is_asked_about_and_refusals_hurt_no_other() -> None:
    questions = [
        Question("away"),
        Question("ugly", sends=True),
        Question("there", copies=True, capabilities=["queue"]),
        Question(None, sends=True),
    ]
    peer = Peer(questions)
    peer.talk()
    assert [each.there for each in questions] == [False, False, True, True]
    assert questions[0].problem == "amqp:not-found: no such node"
    assert peer.probe.done.called and peer.probe.problem == ""
    assert peer.probe.properties == {"product": "Some Broker", "version": "1.2"}
    assert peer.probe.offered == ["DELAYED_DELIVERY"]


def test_a_peer_that_does_not_answer_is_left() -> None:
    questions = [Question("slow"), Question("there")]
    peer = Peer(questions)
    peer.silent.add("slow")
    peer.talk()
    peer.probe.end("it does not answer in time")
    assert peer.probe.problem == "it does not answer in time"
    assert [each.there for each in questions] == [None, None]
    assert peer.wire.disconnecting


def test_a_finding_is_fine_when_it_was_reached_and_nothing_is_missing() -> None:
    finding = Finding("a", nodes=[Node("nodes.0", "queue", "q", "q")])
    assert not finding.fine
    finding.reached = True
    assert finding.fine
    finding.nodes[0].there = False
    assert not finding.fine
    assert finding.as_json()["nodes"][0]["there"] is False


def test_what_a_profile_lacks_is_said() -> None:
    told = lacks(Profile(modified=False, browse="none"))
    assert any(line.startswith("modified") for line in told)
    assert any(line.startswith("browsing") for line in told)


def test_a_certificate_that_is_not_believed_is_told_as_the_reason() -> None:
    probe = Peer([]).probe
    probe.on_doubted("its certificate has expired")
    probe.connectionLost()
    assert probe.problem == "its certificate has expired"
