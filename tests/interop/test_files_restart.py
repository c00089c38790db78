"""Files of 0-10 outlive a gateway that is killed, staged ones as well as published ones."""

import random
from pathlib import Path

import pytest
from interop.content import FRAME, Client, Session, digest, talking
from support.gateway_process import GatewayProcess
from support.rules import rule

HEADER = 2  # frames in front of the body: the command, and its header


@pytest.fixture
def own(qpid_python: object, tmp_path: Path) -> GatewayProcess:
    """A gateway that is to be killed."""
    return GatewayProcess(tmp_path, {"anonymous": True}).start()


def killed(own: GatewayProcess) -> None:
    own.kill()
    own.start(same_ports=True)


@rule("0-10", "file", "reliable-storage")
def test_a_published_file_is_there_with_all_its_properties(own: GatewayProcess) -> None:
    said = {
        "content_type": "text/plain",
        "headers": {"colour": "blue"},
        "priority": 7,
        "message_id": "number 1",
        "filename": "letter.txt",
        "cluster_id": "left",
    }
    with talking(own.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        a.publish("hello", "q", file=said)
    killed(own)
    with talking(own.amqp_port) as client:
        a = client.session("a")
        a.consume("q")
        file = a.file()
        assert (file.body, file.properties) == ("hello", said)
        a.ack(file.delivery_tag)
    assert own.stop() == 0


def test_a_file_that_was_delivered_and_not_acknowledged_comes_again(own: GatewayProcess) -> None:
    with talking(own.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        for body in "12":
            a.publish(body, "q")
        a.consume("q")
        first, second = a.file(), a.file()
        a.ack(first.delivery_tag)
        killed(own)
        b = client.session("b", on="second")
        b.consume("q")
        again = b.file()
        assert (again.body, again.redelivered) == ("2", True)
        assert again.delivered["identifier"] == second.delivered["identifier"]
    assert own.stop() == 0


def test_a_file_that_was_staged_whole_is_only_published(own: GatewayProcess) -> None:
    with talking(own.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        assert a.open("x", 5) == 0
        a.stage("hello", filename="greeting")
        killed(own)
        b = client.session("b", on="second")
        assert b.open("x", 5) == 5
        b.stage("", filename="greeting")
        b.say("file_publish", routing_key="q", identifier="x")
        b.consume("q")
        file = b.file()
        assert (file.body, file.properties["filename"]) == ("hello", "greeting")
        b.ack(file.delivery_tag)
    assert own.stop() == 0


@rule("0-10", "file.open-ok.staged-size", "staging")
def test_a_file_that_was_staged_in_part_goes_on_from_there(own: GatewayProcess) -> None:
    size = 4 * FRAME
    with talking(own.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        assert a.open("x", size) == 0
        a.stage_in_part("x", times=size, frames=HEADER + 2)
        a.unconfirmed()
        behind(client.session("c", on="third"))
        killed(own)
        b = client.session("b", on="second")
        there = b.open("x", size)
        assert there in (FRAME, 2 * FRAME)
        b.stage("y", times=size - there)
        b.say("file_publish", routing_key="q", identifier="x")
        b.consume("q")
        staged = b.file().delivered["staged"].staged
        assert staged["digest"] == digest("x" * there + "y" * (size - there))
    assert own.stop() == 0


def test_files_that_are_staged_over_several_kills_are_there_whole_and_once(
    own: GatewayProcess,
) -> None:
    sender = Sender(random.Random(7), count=6)
    with talking(own.amqp_port) as client:
        client.session("a").declare("q")
        for life in range(len(PLAN)):
            sender.works(client, life)
            if sender.waiting:
                killed(own)
        receiver = client.session("r", on="receiver")
        receiver.consume("q")
        received = [receiver.file() for _ in sender.digests]
        found = {each.properties["filename"]: each.delivered["staged"].staged for each in received}
        assert {name: staged["digest"] for name, staged in found.items()} == sender.digests
        receiver.ack(0, multiple=True)
        assert receiver.so_far("file_open") == []
    assert own.stop() == 0


PLAN = ("in part", "in part", "whole", "published, unheard", "published")


class Sender:
    """Stages files, and publishes each once, whatever becomes of the gateway.

    Attributes:
        waiting: those that are not known to be published, with their content.
        unheard: those of them that were to be published, and nobody said whether they are.
    """

    def __init__(self, chance: random.Random, count: int) -> None:
        self.chance = chance
        self.waiting = {
            f"file-{number}": "".join(chance.choices("abcd", k=chance.randrange(9_000, 40_000)))
            for number in range(count)
        }
        self.digests = {name: digest(body) for name, body in self.waiting.items()}
        self.unheard: set[str] = set()

    def works(self, client: Client, life: int) -> None:
        """The next step of each file; some start behind the first one."""
        on = f"connection {life}"
        for number, name in enumerate(list(self.waiting)):
            step = PLAN[min(life + number % 3, len(PLAN) - 1)]
            self._one(client.session(f"{name}-{life}", on=on), name, step)
        if life % 2:
            other = client.session(f"other-{life}", on=on)
            behind(other)

    def _one(self, session: Session, name: str, step: str) -> None:
        body = self.waiting[name]
        there = session.open(name, len(body))
        if name in self.unheard and there == 0:  # an identifier is free when its file is published
            del self.waiting[name]
        elif step == "in part":
            frames = HEADER + self.chance.randrange(8)
            session.stage_in_part(body[there:], frames=frames, frame=1000, filename=name)
            session.unconfirmed()
        else:
            session.stage(body[there:], filename=name)
            if step.startswith("published"):
                said = {"routing_key": "q", "identifier": name}
                session.send("file_publish", said, sync=step == "published")
                self.unheard.add(name)
                if step == "published":
                    del self.waiting[name]


def behind(other: Session) -> None:
    """What came in part is on disk when something durable behind it is."""
    other.declare("behind")
    other.publish("it", "behind")
