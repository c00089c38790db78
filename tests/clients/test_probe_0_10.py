"""What an old broker of 0-10 is asked by `check --connect`, and what is made of its answers."""

from support.old_broker import OldBroker
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.states import Role
from gateway.clients.probe_0_10 import Probe010
from gateway.clients.probed import ANSWERS_WITHIN_S, Question
from gateway.wire.limits import Limits
from gateway.wire.sasl import ClientMechanism, anonymous, plain


class Visit:
    """A probe of an old broker with the queue ``q``."""

    def __init__(self, *questions: Question, able: list[ClientMechanism] | None = None) -> None:
        self.broker = OldBroker(0)
        self.broker.world.queue("q")
        now_ms = self.broker.world.now_ms
        self.clock = Clock()
        self.probe = Probe010(
            Connection(Role.CLIENT, Limits(), now_ms),
            "",
            able or [anonymous("test")],
            lambda says: list(questions),
            self.clock,
            lambda: now_ms,
        )
        self.transport = StringTransport()
        self.probe.makeConnection(self.transport)

    def talk(self) -> None:
        for _ in range(100):
            up = self.transport.value()
            self.transport.clear()
            if up:
                self.broker.receive(up, self.broker.world.now_ms)
            down = self.broker.data_to_send()
            if down:
                self.probe.dataReceived(down)
            if not up and not down:
                return


def test_it_says_what_it_is_and_which_nodes_it_has() -> None:
    questions = [
        Question("q"),
        Question("missing"),
        Question("amq.topic", sends=True),
        Question("no.exchange", sends=True),
    ]
    visit = Visit(*questions)
    visit.talk()
    probe = visit.probe
    assert probe.done.called
    assert (probe.opened, probe.problem, probe.mechanism) == (True, "", "ANONYMOUS")
    assert probe.properties["product"]
    assert [each.exists for each in questions] == [True, False, True, False]
    assert visit.broker.world.depth() == 0


def test_who_may_not_log_in_is_told_what_is_offered() -> None:
    visit = Visit(able=[plain("user", "password")])
    visit.talk()
    assert visit.probe.done.called
    assert visit.probe.problem == "it offers ANONYMOUS for the login, not PLAIN"


def test_one_that_does_not_answer_is_left_after_a_while() -> None:
    question = Question("q")
    visit = Visit(question)
    for _ in range(8):
        up = visit.transport.value()
        visit.transport.clear()
        visit.broker.receive(up, visit.broker.world.now_ms)
        if visit.probe.opened:
            break
        visit.probe.dataReceived(visit.broker.data_to_send())
    visit.broker.silent = True
    visit.talk()
    visit.clock.advance(ANSWERS_WITHIN_S)
    assert visit.probe.done.called
    assert (question.exists, visit.probe.problem) == (None, "it does not answer")
