"""Files that clients stage: opened, gone on with, published once; and what may not be."""

import pytest
from support.branches_0_10 import OK, asks, commit, end, prepare, rollback, selected, start
from support.bridge_world import World
from support.contents_0_10 import consume_files, files, open_file, publish_file, stage
from support.own_rules import own_rules
from support.rules import rule
from support.talk_0_10 import Client, Gateway, header_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.bridge.limits import BridgeLimits
from gateway.translate.view import READER
from gateway.wire.limits import Limits

NAMED = spec.FileProperties(filename="a.txt")


def gateway_with_queue(**settings: object) -> Gateway:
    gateway = Gateway(**settings)  # type: ignore[arg-type]
    gateway.world.queue(durable=True)
    return gateway


def publish(identifier: str, key: str = "q") -> spec.FilePublish:
    return spec.FilePublish(routing_key=key, identifier=identifier)


def refused(heard: list[object]) -> int | None:
    for one in heard:
        if isinstance(one, tuple) and len(one) == 2:
            code = one[0]
            assert isinstance(code, int)
            return code
    return None


def got(client: Client) -> list[bytes]:
    consume_files(client)
    return [each.body for each in files(client)]


@rule("0-10", "file.open.content-size", "content-size")
def test_a_file_of_no_octets_is_one() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    publish_file(client, b"")
    consume_files(client)
    (file,) = files(client)
    assert (file.body, file.opened.content_size or 0) == (b"", 0)
    gateway.world.check()


@rule("0-10", "file.open-ok.staged-size", "staging")
@pytest.mark.parametrize("again", ["connection", "restart", "crash"])
def test_what_was_staged_whole_is_only_published(again: str) -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    assert open_file(client, "f", 5) == 0
    stage(client, b"hello", NAMED)
    client.hears()
    client.loses_transport()
    if again != "connection":
        getattr(gateway.world, again)()
    other = gateway.session("alice")
    assert open_file(other, "f", 5) == 5
    stage(other, b"", NAMED)
    other.does(publish("f"))
    assert gateway.world.host.staging.octets == 0
    consume_files(other)
    (file,) = files(other)
    assert (file.body, file.properties) == (b"hello", NAMED)
    gateway.world.check()


@rule("0-10", "file.open-ok.staged-size", "staging")
@pytest.mark.parametrize("again", ["connection", "crash"])
def test_what_came_before_the_connection_broke_is_not_sent_again(again: str) -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    size = 200_000
    assert open_file(client, "f", size) == 0
    client.says(spec.FileStage(), header=header_of(NAMED), body=b"x" * size)
    octets = client.connection.data_to_send()
    client.face.receive_data(octets[:150_000], gateway.world.now_ms)
    gateway.world.turn()
    if again == "crash":
        gateway.world.crash()
    else:
        client.loses_transport()
    other = gateway.session("alice")
    there = open_file(other, "f", size)
    assert 65_000 < there < 150_000
    stage(other, b"y" * (size - there), NAMED)
    other.does(publish("f"))
    assert got(other) == [b"x" * there + b"y" * (size - there)]
    gateway.world.check()


def test_what_was_not_yet_handed_over_is_kept_when_the_connection_breaks() -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    open_file(client, "f", 100)
    session = client.session
    assert session is not None
    client.says(spec.FileStage(), header=header_of(NAMED), body=b"x" * 100)
    octets = bytearray(client.connection.data_to_send())
    at = octets.index(b"x" * 100) - 12  # the body's frame: it is to have two
    first = octets[at : at + 12]
    first[0] &= ~0x01
    size = 12 + 60
    first[2:4] = size.to_bytes(2, "big")
    client.face.receive_data(
        bytes(octets[:at] + first + octets[at + 12 : at + size]), gateway.world.now_ms
    )
    client.loses_transport()
    assert open_file(gateway.session("alice"), "f", 100) == 60


def test_what_is_staged_is_its_users() -> None:
    gateway = gateway_with_queue()
    alice, bob = gateway.session("alice"), gateway.session("bob")
    open_file(alice, "f", 5)
    stage(alice, b"hello")
    alice.hears()
    assert open_file(bob, "f", 5) == 0
    assert refused(bob.does(publish("f"))) == 406


def test_an_identifier_with_another_size_is_another_file() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.hears()
    assert open_file(client, "f", 6) == 0
    stage(client, b"world!")
    client.does(publish("f"))
    assert got(client) == [b"world!"]
    gateway.world.check()


def test_who_opens_a_file_once_more_goes_on_with_it_alone() -> None:
    gateway = gateway_with_queue()
    first, second = gateway.session("alice"), gateway.session("alice")
    open_file(first, "f", 5)
    assert open_file(second, "f", 5) == 0
    stage(first, b"wrong")
    assert refused(first.hears()) == 405
    stage(second, b"right")
    second.does(publish("f"))
    assert got(second) == [b"right"]
    gateway.world.check()


def test_files_that_are_opened_together_are_staged_in_that_order() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    for name in ("one", "two", "four"):
        open_file(client, name, len(name))
    for name in ("one", "two", "four"):
        stage(client, name.encode())
    client.does(*[publish(name) for name in ("four", "two", "one")])
    assert got(client) == [b"four", b"two", b"one"]
    gateway.world.check()


@pytest.mark.parametrize("body", [b"four", b"sixsix"])
def test_a_content_size_is_kept_to(body: bytes) -> None:
    client = gateway_with_queue().session()
    open_file(client, "f", 5)
    stage(client, body)
    assert refused(client.hears()) == 531


def test_a_part_beyond_the_content_size_is_refused_as_it_comes() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    open_file(client, "f", 5)
    client.says(spec.FileStage(), header=header_of(NAMED), body=b"x" * 200_000)
    octets = client.connection.data_to_send()
    client.face.receive_data(octets[:150_000], gateway.world.now_ms)
    assert refused(client.hears()) == 531
    assert gateway.world.host.staging.octets == 0


@pytest.mark.parametrize(
    ("commands", "code"),
    [
        ([publish("f")], 404),
        ([spec.FileOpen(identifier="f", content_size=5), publish("f")], 406),
        ([spec.FileOpen(identifier="", content_size=5)], 531),
    ],
)
def test_what_may_not_be_is_refused(commands: list[Command], code: int) -> None:
    client = gateway_with_queue().session()
    assert refused(client.does(*commands)) == code


def test_nothing_is_staged_that_was_not_opened() -> None:
    client = gateway_with_queue().session()
    stage(client, b"hello")
    assert refused(client.hears()) == 409


def test_a_part_of_what_was_not_opened_is_refused_as_it_comes() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.says(spec.FileStage(), header=header_of(NAMED), body=b"x" * 200_000)
    octets = client.connection.data_to_send()
    client.face.receive_data(octets[:150_000], gateway.world.now_ms)
    assert refused(client.hears()) == 409


@pytest.mark.parametrize("header", [b"", header_of(spec.StreamProperties())])
def test_a_file_without_its_properties_is_refused(header: bytes) -> None:
    client = gateway_with_queue().session()
    open_file(client, "f", 5)
    client.says(spec.FileStage(), header=header, body=b"hello")
    assert refused(client.hears()) == 503


def test_a_file_is_published_once() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.does(publish("f"))
    assert refused(client.does(publish("f"))) == 404
    gateway.world.check()


def test_a_file_that_no_exchange_took_stays_staged() -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    open_file(client, "f", 5)
    stage(client, b"hello")
    wrong = spec.FilePublish(exchange="none", routing_key="q", identifier="f")
    assert refused(client.does(wrong)) == 404
    other = gateway.session("alice")
    other.does(publish("f"))
    assert got(other) == [b"hello"]
    gateway.world.check()


def test_a_file_is_published_by_a_session_that_did_not_stage_it() -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.hears()
    other = gateway.session("alice")
    other.does(publish("f"))
    assert got(other) == [b"hello"]
    gateway.world.check()


def test_a_file_larger_than_messages_may_be_is_refused_when_it_is_opened() -> None:
    gateway = gateway_with_queue(limits=Limits(message_size_max=65_536))
    client = gateway.session()
    assert open_file(client, "f", 65_536) == 0
    heard = client.does(spec.FileOpen(identifier="g", content_size=65_537))
    assert refused(heard) == 506


@pytest.mark.parametrize("end", [spec.TxRollback(), None])
def test_a_file_of_a_transaction_that_is_rolled_back_is_still_staged(end: Command | None) -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    client.does(spec.TxSelect())
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.does(publish("f"))
    if end is None:
        client.loses_transport()
    else:
        client.does(end)
    other = gateway.session("alice")
    other.does(publish("f"))
    assert got(other) == [b"hello"]
    gateway.world.check()


def test_a_file_of_a_transaction_is_a_message_with_its_commit() -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    client.does(spec.TxSelect())
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.does(publish("f"))
    staging = gateway.world.host.staging
    assert len(staging) == 1
    client.does(spec.TxCommit())
    assert (len(staging), gateway.world.depth()) == (0, 1)
    gateway.world.crash()
    assert (len(gateway.world.host.staging), gateway.world.depth()) == (0, 1)
    gateway.world.check()


def test_a_file_that_a_transaction_published_to_nowhere_is_gone_with_its_commit() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.does(spec.TxSelect())
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.does(publish("f", "nowhere"), spec.TxCommit())
    assert len(gateway.world.host.staging) == 0
    gateway.world.check()


def test_a_transaction_publishes_a_file_once() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.does(spec.TxSelect())
    open_file(client, "f", 5)
    stage(client, b"hello")
    client.does(publish("f"))
    assert refused(client.does(publish("f"))) == 404


def with_branch_of_a_file(gateway: Gateway, *commands: Command) -> Client:
    """A branch of alice's has published what she has staged; and her session."""
    client = selected(gateway, "alice")
    open_file(client, "f", 5)
    stage(client, b"hello", NAMED)
    assert asks(client, start(), publish("f")) == OK
    assert asks(client, end(), *commands) == OK
    return client


@pytest.mark.parametrize("prepared", [False, True])
def test_a_file_of_a_branch_that_is_rolled_back_is_still_staged(prepared: bool) -> None:
    gateway = gateway_with_queue()
    client = with_branch_of_a_file(gateway, *([prepare()] if prepared else []))
    other = gateway.session("alice")
    assert refused(other.does(publish("f"))) == 404
    assert asks(client, rollback()) == OK
    client.does(publish("f"))
    assert got(client) == [b"hello"]
    assert len(gateway.world.host.staging) == 0
    gateway.world.check()


@pytest.mark.parametrize("one_phase", [False, True])
def test_a_file_of_a_branch_is_a_message_with_its_commit(one_phase: bool) -> None:
    gateway = gateway_with_queue()
    client = with_branch_of_a_file(gateway, *([] if one_phase else [prepare()]))
    assert len(gateway.world.host.staging) == 1
    assert asks(client, commit(one_phase=one_phase)) == OK
    assert (len(gateway.world.host.staging), gateway.world.depth()) == (0, 1)
    gateway.world.crash()
    assert (len(gateway.world.host.staging), gateway.world.depth()) == (0, 1)
    gateway.world.check()


@pytest.mark.parametrize(("committed", "left"), [(True, 0), (False, 1)])
def test_a_prepared_branch_has_its_file_after_a_crash(committed: bool, left: int) -> None:
    gateway = gateway_with_queue()
    with_branch_of_a_file(gateway, prepare())
    gateway.world.crash()
    client = selected(gateway, "alice")
    assert open_file(client, "f", 5) == 5
    stage(client, b"", NAMED)
    assert refused(client.does(publish("f"))) == 404
    manager = selected(gateway, "alice")
    assert asks(manager, commit() if committed else rollback()) == OK
    assert (len(gateway.world.host.staging), gateway.world.depth()) == (left, 1 - left)
    gateway.world.crash()
    again = gateway.session("alice")
    assert (refused(again.does(publish("f"))) == 404) == committed
    assert gateway.world.depth() == 1
    gateway.world.check()


def test_what_a_branch_has_published_may_be_opened_as_another_file() -> None:
    gateway = gateway_with_queue()
    client = with_branch_of_a_file(gateway, prepare())
    assert open_file(client, "f", 3) == 0
    stage(client, b"new", NAMED)
    assert asks(client, commit()) == OK
    client.does(publish("f"))
    assert got(client) == [b"hello", b"new"]
    gateway.world.check()


# Clients that mean no good.


def test_who_stages_and_never_publishes_has_so_much_for_so_long() -> None:
    limits = BridgeLimits(staging_octets_max=10_000, staging_timeout_ms=60_000)
    gateway = gateway_with_queue(world=World(reader=READER, limits=limits))
    client = gateway.session("mallory")
    for number in range(4):
        open_file(client, f"f{number}", 1_000)
        stage(client, b"x" * 1_000)
    heard = client.does(spec.FileOpen(identifier="one more", content_size=1_000))
    assert refused(heard) == 506
    staging = gateway.world.host.staging
    assert (len(staging), staging.octets) == (4, 4_000)
    other = gateway.session("alice")
    assert open_file(other, "f", 1_000) == 0
    gateway.world.pass_time(59_999)
    assert len(staging) == 5
    gateway.world.pass_time(1)
    assert (len(staging), staging.octets, staging.expired) == (0, 0, 5)
    gateway.world.restart()
    assert len(gateway.world.host.staging) == 0
    assert gateway.world.bridge.pressure.messages == 0
    gateway.world.check()


def test_nothing_more_is_staged_when_the_gateway_holds_as_much_as_it_may() -> None:
    limits = BridgeLimits(octets_high=160_000, octets_low=80_000, octets_max=20_000)
    gateway = gateway_with_queue(world=World(reader=READER, limits=limits))
    client = gateway.session()
    for name in ("f", "g"):
        open_file(client, name, 15_000)
    stage(client, b"x" * 15_000)
    client.hears()
    client.publishes(b"y" * 5_000)
    client.hears()
    stage(client, b"z" * 15_000)
    assert refused(client.hears()) == 506
    assert gateway.world.host.staging.octets == 15_000
    gateway.world.check()


def test_who_opens_and_never_stages_may_not_do_so_without_end() -> None:
    gateway = gateway_with_queue(limits=Limits(links_max=10))
    client = gateway.session()
    opens = [spec.FileOpen(identifier="f", content_size=5) for _ in range(11)]
    assert refused(client.does(*opens)) == 506
    assert len(gateway.world.host.staging) == 1


def test_what_is_staged_counts_among_what_is_held() -> None:
    gateway = gateway_with_queue()
    client = gateway.session("alice")
    open_file(client, "f", 1_000)
    stage(client, b"x" * 1_000, NAMED)
    client.hears()
    held = gateway.world.bridge.pressure.octets
    assert held > 1_000
    gateway.world.crash()
    assert gateway.world.bridge.pressure.octets == held


def test_what_a_timeout_has_forgotten_cannot_be_gone_on_with() -> None:
    gateway = gateway_with_queue(
        world=World(reader=READER, limits=BridgeLimits(staging_timeout_ms=1_000))
    )
    client = gateway.session()
    open_file(client, "f", 5)
    gateway.world.pass_time(1_000)
    stage(client, b"hello")
    assert refused(client.hears()) == 405


def test_who_may_publish_nothing_stages_nothing() -> None:
    gateway = gateway_with_queue()
    gateway.settings.access.in_force.rules = own_rules(
        "allow: publish, queue: q, users: alice", "allow: consume"
    )
    mallory = gateway.session("mallory")
    assert refused(mallory.does(spec.FileOpen(identifier="f", content_size=5))) == 403
    assert len(gateway.world.host.staging) == 0
    alice = gateway.session("alice")
    assert open_file(alice, "f", 5) == 0
    stage(alice, b"hello", NAMED)
    assert refused(alice.does(publish("f", key="r"))) == 403
    again = gateway.session("alice")
    again.does(publish("f"))
    assert got(again) == [b"hello"]
    gateway.world.check()
