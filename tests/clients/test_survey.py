"""What `check --connect` asks a peer, and what it makes of the answers."""

from __future__ import annotations

import itertools

from support.net import Wire
from twisted.internet.task import Clock

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0.connection import Connection
from gateway.clients.findings import Finding, Presence, lacks, nodes_of
from gateway.clients.probe import Probe
from gateway.clients.probed import ANSWERS_WITHIN_S, About, Question
from gateway.clients.survey import Questions
from gateway.config.placement import NodeRule
from gateway.translate.profiles.loading import load_profile
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


class Peer:
    """A container that has the address "there", refuses "away" and ends the session over "ugly".

    It takes messages as large as `Limits` has it.
    """

    def __init__(self, questions: list[Question] | Questions, product: str = "Some Broker") -> None:
        self.product = product
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
        self.attaches: list[str | None] = []

        def asked(says: str) -> list[Question]:
            return questions if isinstance(questions, list) else questions.for_peer(says)

        self.probe = Probe(ours, None, asked, self.clock, lambda: 0)
        self.wire = Wire()
        self.wire.protocol = self.probe
        self.probe.makeConnection(self.wire)
        self.silent: set[str] = set()
        self.channels: list[int] = []

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
                    "product": Tagged(types.STRING, self.product),
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
        self.attaches.append(address)
        self.channels.append(event.link.session.channel_out)
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
        Question(about=About.COORDINATOR, sends=True),
    ]
    peer = Peer(questions)
    peer.talk()
    assert [each.exists for each in questions] == [False, False, True, True]
    assert questions[0].problem == "amqp:not-found: no such node"
    assert questions[2].copied and not questions[2].selected
    assert questions[3].message_size == Limits().message_size_max
    assert peer.probe.done.called and peer.probe.problem == ""
    assert peer.probe.properties == {"product": "Some Broker", "version": "1.2"}
    assert peer.probe.offered == ["DELAYED_DELIVERY"]


def test_no_channel_is_used_again_at_once() -> None:
    peer = Peer([Question("away"), Question("ugly"), Question("there"), Question("away")])
    peer.talk()
    assert all(one != other for one, other in itertools.pairwise(peer.channels))


def test_a_question_that_is_not_answered_is_left_and_the_next_one_asked() -> None:
    questions = [Question("slow"), Question("there")]
    peer = Peer(questions)
    peer.silent.add("slow")
    peer.talk()
    peer.clock.advance(ANSWERS_WITHIN_S)
    peer.talk()
    assert [each.exists for each in questions] == [None, True]
    assert questions[0].problem == "it does not answer"
    assert peer.probe.problem == ""
    assert not peer.clock.getDelayedCalls()


def test_a_peer_that_does_not_answer_is_left() -> None:
    questions = [Question("slow"), Question("there")]
    peer = Peer(questions)
    peer.silent.add("slow")
    peer.talk()
    peer.probe.end("it does not answer in time")
    assert peer.probe.problem == "it does not answer in time"
    assert [each.exists for each in questions] == [None, None]
    assert peer.wire.disconnecting


def test_answers_are_put_beside_what_the_profile_counts_on() -> None:
    profile = load_profile("qpid-broker-j")
    rules = [
        NodeRule(number, "queue", name, None, "a") for number, name in enumerate(("there", "away"))
    ]
    finding = Finding("a", nodes=nodes_of(rules, "a", profile))
    finding.reached = True
    questions = Questions(finding.nodes, profile)
    peer = Peer(questions.all())
    peer.talk()
    questions.answer(finding)
    assert [node.state for node in finding.nodes] == [Presence.YES, Presence.NO]
    assert finding.message_size == Limits().message_size_max
    found = {each.name: (each.used, each.answered) for each in finding.abilities}
    assert found["transactions"] == (profile.transactions, True)
    assert found["browsing"] == (profile.browse == "copy", True)
    assert found["modified"] == (profile.modified, None)


def test_a_certificate_that_is_not_believed_is_told_as_the_reason() -> None:
    probe = Peer([]).probe
    probe.on_doubted("its certificate has expired")
    probe.connectionLost()
    assert probe.problem == "its certificate has expired"


def survey(profile_name: str, product: str, *rules: NodeRule) -> tuple[Finding, Peer]:
    profile = load_profile(profile_name)
    finding = Finding("a", profile.name, profile.products, nodes=nodes_of([*rules], "a", profile))
    finding.reached = True
    finding.lacks = lacks([*rules], profile)
    questions = Questions(finding.nodes, profile)
    peer = Peer(questions, product)
    peer.talk()
    finding.product = peer.probe.properties["product"]
    questions.answer(finding)
    return finding, peer


QUEUE = NodeRule(0, "queue", "there", None, "a")
PATTERN = NodeRule(1, "queue", "*", None, "a")


def test_nothing_is_asked_of_a_broker_that_the_profile_is_not_of() -> None:
    finding, peer = survey("rabbitmq310", "apache-activemq-artemis", QUEUE, PATTERN)
    assert peer.attaches == []
    assert peer.probe.done.called and peer.probe.problem == ""
    assert finding.stranger and not finding.fine
    assert [node.state for node in finding.nodes] == [Presence.STRANGER, Presence.PATTERN]
    assert finding.abilities == finding.lacks == []


def test_a_broker_that_is_known_to_make_what_is_asked_for_is_not_asked_for_nodes() -> None:
    finding, peer = survey("generic", "apache-activemq-artemis", QUEUE, PATTERN)
    assert peer.attaches == [None, None, "coordinator"]
    assert not finding.stranger
    assert [node.state for node in finding.nodes] == [Presence.AUTO, Presence.PATTERN]
    finding, peer = survey("generic", "Some Broker", QUEUE)
    assert peer.attaches[0] == "there"
    assert [node.state for node in finding.nodes] == [Presence.YES]
