"""How files of 0-10 are staged, both ways, by the old Python client's own codec."""

from pathlib import Path

import pytest
from interop.content import FRAME, Client, Session, digest, talking
from interop.foreign import PASSWORD, USER
from support.gateway_process import GatewayProcess
from support.rules import rule

RESOURCE_LIMIT = 506
HEADER = 2  # frames in front of the body: the command, and its header


def test_nothing_is_staged_of_a_new_file(a: Session) -> None:
    assert a.open("new", 100) == 0


@rule("0-10", "file.open-ok.staged-size", "staging")
def test_what_came_before_the_connection_broke_is_not_sent_again(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    size = 3 * FRAME + 10
    assert a.open(name, size) == 0
    a.stage_in_part("x", times=size, frames=HEADER + 2, filename="big")
    a.unconfirmed()
    content.cut()
    b = content.session("b", on="second")
    assert b.open(name, size) == 2 * FRAME
    b.stage("y", times=size - 2 * FRAME, filename="big")
    b.say("file_publish", routing_key=name, identifier=name)
    b.consume(name)
    staged = b.file().delivered["staged"].staged
    assert staged["size"] == size
    assert staged["digest"] == digest("x" * 2 * FRAME + "y" * (FRAME + 10))


def test_what_was_staged_whole_is_only_published(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.open(name, 5)
    a.stage("hello")
    content.cut()
    b = content.session("b", on="second")
    assert b.open(name, 5) == 5
    b.stage("")
    b.say("file_publish", routing_key=name, identifier=name)
    b.consume(name)
    assert b.files(1) == ["hello"]


def test_what_is_staged_is_its_users(a: Session, content: Client, name: str) -> None:
    a.open(name, 5)
    a.stage("hello")
    other = content.session("b", on="second", username=USER, password=PASSWORD)
    assert other.open(name, 5) == 0


@rule("0-10", "file.open.content-size", "content-size")
@pytest.mark.parametrize("body", ["four", "sixsix"])
def test_a_content_size_is_kept_to(a: Session, name: str, body: str) -> None:
    a.open(name, 5)
    assert a.stage_refused(body)


def test_nothing_is_staged_that_was_not_opened(a: Session) -> None:
    assert a.stage_refused("hello")


def test_a_file_that_was_not_opened_cannot_be_published(a: Session, name: str) -> None:
    a.declare(name)
    assert a.refused("file_publish", routing_key=name, identifier=name)


def test_a_file_of_which_nothing_came_cannot_be_published(a: Session, name: str) -> None:
    a.declare(name)
    a.open(name, 5)
    assert a.refused("file_publish", routing_key=name, identifier=name)


def test_a_staged_file_is_published_once(a: Session, name: str) -> None:
    a.declare(name)
    a.open(name, 5)
    a.stage("hello")
    a.say("file_publish", routing_key=name, identifier=name)
    assert a.refused("file_publish", routing_key=name, identifier=name)


def test_an_identifier_may_be_used_again_once_its_file_is_published(a: Session, name: str) -> None:
    a.declare(name)
    for body in ("first", "later"):
        assert a.open(name, 5) == 0
        a.stage(body)
        a.say("file_publish", routing_key=name, identifier=name)
    a.consume(name)
    assert a.files(2) == ["first", "later"]


def test_files_that_are_opened_together_are_staged_in_that_order(a: Session, name: str) -> None:
    a.declare(name)
    sizes = {"one": 3, "two": 3, "four": 4}
    for identifier, size in sizes.items():
        assert a.open(f"{name}-{identifier}", size) == 0
    for identifier in sizes:
        a.stage(identifier)
    for identifier in reversed(sizes):
        a.say("file_publish", routing_key=name, identifier=f"{name}-{identifier}")
    a.consume(name)
    assert a.files(3) == ["four", "two", "one"]


@rule("0-10", "file.open-ok.staged-size", "behavior")
def test_a_receiver_that_has_a_part_gets_the_rest(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.publish("hello, world", name, file={"filename": "greeting"})
    content.hold(7)
    a.consume(name)
    file = a.file()
    assert (file.body, file.properties["filename"]) == ("world", "greeting")
    assert file.delivered["staged"].opened["content_size"] == 12


def test_a_file_that_comes_again_has_the_same_identifier(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.publish("hello", name)
    a.consume(name)
    first = a.file()
    content.cut()
    content.hold(5)
    b = content.session("b", on="second")
    b.consume(name)
    again = b.file()
    assert again.delivered["identifier"] == first.delivered["identifier"]
    assert (again.body, again.redelivered) == ("", True)


def test_a_receiver_cannot_have_more_than_there_is(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.publish("hello", name)
    content.hold(6)
    a.send("file_consume", {"queue": name, "consumer_tag": "t"}, sync=False)
    a.heard("file_open")
    a.heard("execution_exception")


def test_an_open_ok_without_an_open_is_refused(a: Session) -> None:
    assert a.refused("file_open_ok", staged_size=0)


def test_a_file_that_its_receiver_does_not_ask_for_goes_to_another(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.publish("hello", name)
    content.hold(None)
    a.consume(name)
    a.heard("file_open")
    content.cut()
    content.hold(0)
    b = content.session("b", on="second")
    b.consume(name)
    assert b.files(1) == ["hello"]


def test_a_file_of_many_frames_comes_whole(a: Session, name: str) -> None:
    a.declare(name)
    size = 5 * FRAME
    a.open(name, size)
    a.stage("z", times=size)
    a.say("file_publish", routing_key=name, identifier=name)
    a.consume(name)
    assert a.file().delivered["staged"].staged["digest"] == digest("z" * size)


def test_who_opens_a_file_last_goes_on_with_it(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    assert a.open(name, 2 * FRAME) == 0
    a.stage_in_part("x", times=2 * FRAME, frames=HEADER + 1)
    a.unconfirmed()
    b = content.session("b", on="second")
    there = b.open(name, 2 * FRAME)
    b.stage("y", times=2 * FRAME - there)
    b.say("file_publish", routing_key=name, identifier=name)
    b.consume(name)
    staged = b.file().delivered["staged"].staged
    assert staged["digest"] == digest("x" * there + "y" * (2 * FRAME - there))


def test_a_receiver_that_asks_for_nothing_has_sixteen_files_opened(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    for _ in range(17):
        a.publish("hello", name)
    content.hold(None)
    a.consume(name)
    assert len(a.so_far("file_open")) == 16


def test_a_connection_that_breaks_in_the_middle_of_a_file_leaves_it_to_others(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    size = 100 * FRAME
    a.open(name, size)
    a.stage("z", times=size)
    a.say("file_publish", routing_key=name, identifier=name)
    other = content.session("b", on="second")
    other.send("file_consume", {"queue": name, "consumer_tag": "t"}, sync=False)
    other.heard("file_open")
    content.cut("second")
    a.consume(name)
    assert a.file().delivered["staged"].staged["digest"] == digest("z" * size)


@pytest.mark.parametrize(
    "command",
    ["file_qos_ok", "file_consume_ok", "file_return", "file_deliver", "stream_qos_ok"],
)
def test_a_command_of_the_server_is_not_a_clients(a: Session, command: str) -> None:
    assert a.refused(command)


def test_what_is_staged_has_a_limit_for_each_user(qpid_python: object, tmp_path: Path) -> None:
    users = tmp_path / "users.yaml"
    settings = {"users_file": str(users), "anonymous": True, "limits": {"staging_size": "8KiB"}}
    made = GatewayProcess(tmp_path, settings)
    assert not made.tool(
        *("user", "add", "--file", str(users), "--password-stdin", USER), given=PASSWORD
    ).returncode
    with made as gateway, talking(gateway.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        assert a.open("one", 4000) == 0
        refused = {"identifier": "two", "content_size": 4000}
        assert client.session("b").refused("file_open", **refused) == RESOURCE_LIMIT
        other = client.session("c", on="second", username=USER, password=PASSWORD)
        assert other.open("two", 4000) == 0
        a.stage("x", times=4000)
        a.say("file_publish", routing_key="q", identifier="one")
        assert client.session("d").open("two", 4000) == 0


def test_what_is_staged_is_forgotten_after_its_time(qpid_python: object, tmp_path: Path) -> None:
    settings = {"limits": {"staging_timeout": "1s"}}
    with GatewayProcess(tmp_path, settings) as gateway, talking(gateway.amqp_port) as client:
        a = client.session("a")
        a.declare("q")
        assert a.open("one", 5) == 0
        a.stage("hello")
        client.cut()
        while not gateway.metrics()["gateway_staging_expired_total"]:
            pass
        b = client.session("b", on="second")
        assert b.open("one", 5) == 0
        b.stage("later")
        b.say("file_publish", routing_key="q", identifier="one")
        b.consume("q")
        assert b.files(1) == ["later"]


def test_a_file_larger_than_messages_may_be_is_refused_when_it_is_opened(
    qpid_python: object, tmp_path: Path
) -> None:
    settings = {"limits": {"message_size": "64KiB"}}
    with GatewayProcess(tmp_path, settings) as gateway, talking(gateway.amqp_port) as client:
        assert client.session("a").refused("file_open", identifier="x", content_size=65537)
        assert client.session("b").open("x", 65536) == 0
