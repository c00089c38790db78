"""Files and streams with what else there is: a store, upstreams, sessions that are kept, rules."""

from io import BytesIO
from pathlib import Path

from support.contents_0_10 import consume_files, files, open_file, publish_file, stage
from support.own_rules import own_rules
from support.remotes import FakeRemote, FakeRules
from support.talk_0_10 import Client, Gateway, header_of
from support.whole_gateway import Guest, WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.bridge.limits import BridgeLimits
from gateway.message import ACCEPTED, Flag
from gateway.offline.checking import Check
from gateway.offline.directory import to_read
from gateway.offline.exporting import Wanted, export
from gateway.offline.importing import import_into
from gateway.wire.limits import Limits

PROPERTIES = spec.FileProperties(filename="a.txt", cluster_id="here")


def say(gateway: WholeGateway, guest: Guest, command: Command, body: bytes | None = None) -> None:
    """A command, by a client of the gateway's own; with `body`, one with that content."""
    session = guest.client._session  # type: ignore[attr-defined]
    header = None if body is None else header_of(PROPERTIES)
    session.send_command(command, header=header, body=body or b"")
    guest.protocol.schedule()
    gateway.run()


def joins(gateway: WholeGateway) -> Guest:
    gateway.connect_0_10()
    return gateway.guests[-1]


def test_what_is_staged_is_in_the_store_of_a_gateway_that_is_killed(tmp_path: Path) -> None:
    first = WholeGateway(tmp_path).start()
    guest = joins(first)
    say(first, guest, spec.QueueDeclare(queue="q", durable=True))
    for number in (1, 2):
        say(first, guest, spec.FileOpen(identifier=f"f{number}", content_size=40_000))
        say(first, guest, spec.FileStage(), b"x" * 40_000)
    say(first, guest, spec.FilePublish(routing_key="q", identifier="f1"))
    first.end()
    first.stopped = True

    second = WholeGateway(tmp_path).start()
    staging = second.service.bridge.default_host.staging
    assert (len(staging), staging.octets) == (1, 40_000)
    guest = joins(second)
    say(second, guest, spec.FilePublish(routing_key="q", identifier="f2"))
    queue = second.service.bridge.default_host.topology.queues["q"]
    assert queue.depth == 2
    assert len(staging) == 0
    second.stop()
    second.ledger().assert_balanced()


def test_what_is_staged_is_forgotten_in_its_time_also_after_a_restart(tmp_path: Path) -> None:
    first = WholeGateway(tmp_path, "limits.staging_timeout=100s").start()
    guest = joins(first)
    say(first, guest, spec.FileOpen(identifier="f", content_size=5))
    first.stop()
    second = WholeGateway(tmp_path, "limits.staging_timeout=100s").start()
    staging = second.service.bridge.default_host.staging
    assert len(staging) == 1
    second.pass_time(99)
    assert len(staging) == 1
    second.pass_time(2)
    assert (len(staging), staging.expired) == (0, 1)
    second.stop()
    third = WholeGateway(tmp_path).start()
    assert len(third.service.bridge.default_host.staging) == 0
    third.stop()


# At an upstream.


def at_upstream() -> tuple[FakeRemote, Gateway]:
    """A gateway whose queue r lives elsewhere."""
    rules = FakeRules()
    remote = rules.add("r")
    return remote, Gateway(rules=rules)


def test_a_file_goes_to_an_upstream_and_its_publisher_hears_when_it_is_there() -> None:
    remote, gateway = at_upstream()
    client = gateway.session()
    heard = publish_file(client, b"content", key="r", properties=PROPERTIES)
    assert heard == ["completed 1-1"]
    (delivery,) = remote.relays["r"].take()
    assert delivery.message.body() == b"content"
    gateway.world.host.settlement.settle(delivery, ACCEPTED)
    assert client.hears() == ["completed 2-2"]
    gateway.world.check()


def test_a_consumer_of_a_remote_queue_is_one_when_the_upstream_has_attached_it() -> None:
    remote, gateway = at_upstream()
    client = gateway.session()
    client.says(spec.FileConsume(queue="r", consumer_tag="c"))
    assert client.hears() == []
    inlet = remote.inlets[-1][0]
    inlet.on_attached()
    assert spec.FileConsumeOk(consumer_tag="c") in client.hears()
    inlet.receive(gateway.world.message(b"body", key="r"), 7)
    (got,) = files(client)
    assert got.body == b"body"
    client.does(spec.FileAck(delivery_tag=got.tag))
    gateway.world.check()


# A session that outlives its connection.


def test_a_session_goes_on_with_the_files_that_it_was_sent() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.client("ann")
    client.attach(b"name")
    assert client.session is not None
    client.session.request_timeout(60)
    client.session.keep_state()
    client.hears()
    client.does(spec.FileQos(prefetch_count=1))
    for body in (b"1", b"2"):
        publish_file(client, body)
    consume_files(client)
    assert [got.body for got in files(client)] == [b"1"]
    client.loses_transport()
    client.connection.receive_eof()
    client.connection.lose(client.session)
    again = gateway.client("ann")
    again.channel = 3
    again.session = client.session
    again.connection.attach_again(client.session, 3, False)
    again.hears()
    again.says(spec.FileAck(delivery_tag=1))
    assert [got.body for got in files(again)] == [b"2"]
    gateway.world.check()


# Of more than memory may hold.


def test_files_that_are_more_than_memory_come_out_of_a_gateway_that_was_killed() -> None:
    memory, size, count = 1024 * 1024, 64 * 1024, 120
    gateway = Gateway(bridge_limits=BridgeLimits(memory_octets=memory))
    world = gateway.world
    world.queue(durable=True)
    publisher = gateway.session("ann")
    for number in range(count):
        properties = spec.FileProperties(message_id=str(number), priority=9 * (number % 2))
        assert open_file(publisher, "f", size) == 0
        stage(publisher, bytes(size), properties)
        publisher.does(spec.FilePublish(routing_key="q", identifier="f"))
    world.crash()
    queue = world.host.topology.find_queue("q")
    assert queue is not None
    numbers = [*range(1, count, 2), *range(0, count, 2)]
    for user, again in (("bob", False), ("eve", True)):
        client = gateway.session(user)
        client.does(spec.FileQos(prefetch_count=10))
        consume_files(client)
        came: list[str] = []
        while got := files(client):
            for file in got:
                came.append(str(file.properties.message_id))
                assert file.told.redelivered == again
                if again:
                    client.says(spec.FileAck(delivery_tag=file.tag))
                else:
                    client.says(spec.FileReject(delivery_tag=file.tag, requeue=True))
        assert came == [str(number) for number in numbers]
        for _ in range(world.bridge.paging.patience):
            world.turn()
        assert queue.depth == (0 if again else count)
        assert world.bridge.pressure.octets < 4 * memory
    world.check()


def test_files_that_were_on_disk_go_into_another_store_as_files(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    gateway = WholeGateway(first, "queues.memory=1MiB").start()
    guest = joins(gateway)
    say(gateway, guest, spec.QueueDeclare(queue="q", durable=True))
    count, size = 80, 60_000
    for _ in range(count):
        say(gateway, guest, spec.FileOpen(identifier="f", content_size=size))
        say(gateway, guest, spec.FileStage(), bytes(size))
        say(gateway, guest, spec.FilePublish(routing_key="q", identifier="f"))
    assert gateway.service.bridge.pressure.away_messages > 0
    gateway.stop()
    assert list(Check(first).problems()) == []
    out = BytesIO()
    with to_read(first) as database:
        export(database, Wanted(["q"]), out, 0)
    WholeGateway(second, accept_new_store=True).start().stop()
    octets = out.getvalue()
    import_into(second, BytesIO(octets), size=len(octets), who="ann: all.jsonl", now_ms=0)

    other = WholeGateway(second, "queues.memory=1MiB").start()
    queue = other.service.bridge.default_host.topology.queues["q"]
    assert queue.contents is not None
    assert (queue.contents.files, queue.octets > count * size) == (count, True)
    assert other.service.bridge.pressure.away_messages > 0
    other.stop()
    other.ledger().assert_balanced()


# By access rules.


def test_what_a_user_may_not_publish_is_refused_and_in_the_books() -> None:
    gateway = Gateway()
    gateway.world.queue()
    gateway.settings.access.in_force.rules = own_rules(
        "allow: consume, queue: q", "allow: publish, queue: other"
    )
    client = gateway.session("alice")
    header = header_of(spec.StreamProperties())
    client.says(spec.StreamPublish(routing_key="q"), header=header, body=b"packet")
    assert (403, 0) in client.hears()
    client = gateway.session("alice")
    open_file(client, "f", 4)
    stage(client, b"file", PROPERTIES)
    assert (403, 2) in client.does(spec.FilePublish(routing_key="q", identifier="f"))
    assert gateway.world.host.staging.octets == 4
    assert gateway.world.depth() == 0
    gateway.world.check()


def test_rules_that_forbid_to_consume_end_the_session_that_does() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session("alice")
    consume_files(client)
    client.hears()
    gateway.settings.access.in_force.rules = own_rules("allow: consume, queue: other")
    client.face.client.access.renew()
    client.face.on_rules_changed(gateway.world.now_ms)
    assert (403, None) in client.hears()


# In the books.


def test_a_stream_that_came_too_late_is_in_the_books() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    header = header_of(spec.StreamProperties())
    client.says(spec.QueueDelete(queue="none"))
    client.says(spec.StreamPublish(routing_key="q"), header=header, body=b"late")
    assert (404, 0) in client.hears()
    assert gateway.world.depth() == 0
    gateway.world.check()


def test_a_stream_that_is_too_large_is_in_the_books() -> None:
    gateway = Gateway(limits=Limits(message_size_max=65_536))
    gateway.world.queue()
    client = gateway.session()
    header = header_of(spec.StreamProperties())
    client.says(spec.StreamPublish(routing_key="q"), header=header, body=b"x" * 70_000)
    assert (506, 0) in client.hears()
    counts = gateway.world.bridge.counts
    assert (counts.received, counts.refused) == (1, 1)
    gateway.world.check()


def flags_in(gateway: Gateway) -> list[int]:
    queue = gateway.world.host.topology.queues["q"]
    entry, found = queue.places.next_at(0), []
    while entry is not None:
        found.append(entry.message.flags & (Flag.FILE | Flag.STREAM))
        entry = queue.places.next_at(entry.position + 1)
    return found


def test_what_a_message_says_of_itself_makes_it_no_file() -> None:
    gateway = Gateway()
    gateway.world.queue(max_count=1)
    client: Client = gateway.session()
    open_file(client, "f", 1)
    stage(client, b"x", PROPERTIES)
    client.hears()
    header = header_of(spec.DeliveryProperties(routing_key="q")) + header_of(PROPERTIES)
    client.says(spec.MessageTransfer(), header=header, body=b"a message")
    client.hears()
    assert flags_in(gateway) == [0]
    gateway.world.check()
