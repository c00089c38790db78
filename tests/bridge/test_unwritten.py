"""What waits for the store: who has most of it is not heard, and is told when some is written."""

from support.bridge_world import World

from gateway.bridge.unwritten import LITTLE, MUCH, Author
from gateway.errors import StoreError


class Connection:
    def __init__(self) -> None:
        self.touched = 0

    def touch(self) -> None:
        self.touched += 1


class Once:
    """A work that is done in one go."""

    def __init__(self) -> None:
        self.done = False

    def go_on(self, end: int) -> bool:
        self.done = True
        return True


def acts(world: World, author: Author, octets: int) -> None:
    """Make the author's doings take at least so many octets, in records of messages of one."""
    bridge = world.bridge
    bridge.act(world.now_ms, author, 1, 0)
    before = world.audit.pending()
    while world.audit.pending() - before < octets:
        world.host.publishing.publish(world.message(b"x", exchange="amq.fanout"), None, 0)
    bridge.now_ms = world.now_ms


def slow_world() -> World:
    """Nothing is committed until the test says so."""
    world = World()
    world.auto_commit = False
    return world


def test_who_floods_waits_and_others_do_not() -> None:
    world = slow_world()
    unwritten = world.bridge.unwritten
    flood, polite = Author(Connection()), Author(Connection())
    acts(world, flood, MUCH // 2)
    world.turn()
    assert not unwritten.too_much(flood)
    acts(world, flood, MUCH // 2 + 1)
    acts(world, polite, 1)
    world.turn()
    assert unwritten.too_much(flood)
    assert not unwritten.too_much(polite)
    assert flood.octets > MUCH
    assert 0 < polite.octets < LITTLE
    assert unwritten.octets == flood.octets + polite.octets


def test_a_commit_lets_go_on_who_waits() -> None:
    world = slow_world()
    unwritten = world.bridge.unwritten
    connection = Connection()
    flood = Author(connection)
    acts(world, flood, MUCH + 1)
    world.turn()
    assert unwritten.too_much(flood)
    assert connection.touched == 0
    world.commit()
    assert connection.touched == 1
    assert not unwritten.too_much(flood)
    assert (flood.octets, unwritten.octets, unwritten.authors) == (0, 0, 0)
    acts(world, flood, 1)
    world.turn()
    world.commit()
    assert connection.touched == 1  # it does not wait


def test_many_who_flood_have_equal_parts() -> None:
    world = slow_world()
    unwritten = world.bridge.unwritten
    authors = [Author(Connection()) for _ in range(8)]
    for author in authors:
        acts(world, author, MUCH // 8 + 1)
    busy = Author(Connection())
    acts(world, busy, MUCH // 16)
    world.turn()
    assert [unwritten.too_much(author) for author in authors] == [True] * 8
    assert not unwritten.too_much(busy)


def test_what_the_gateway_does_by_itself_is_nobodys() -> None:
    world = slow_world()
    author = Author(Connection())
    acts(world, author, 1)
    octets = author.octets
    world.host.publishing.publish(world.message(exchange="amq.fanout"), None, 0)
    world.turn()
    assert author.octets == octets


def test_durable_writes_count_as_records_do() -> None:
    world = slow_world()
    world.queue("q", durable=True)
    author = Author(Connection())
    world.bridge.act(world.now_ms, author, 1, 0)
    world.host.publishing.publish(world.message(bytes(5_000), key="q", durable=True), None, 0)
    world.turn()
    assert author.octets > 5_000


def test_nobody_waits_while_the_disk_refuses() -> None:
    world = slow_world()
    unwritten = world.bridge.unwritten
    connection = Connection()
    flood = Author(connection)
    acts(world, flood, MUCH + 1)
    world.turn()
    assert unwritten.too_much(flood)
    world.bridge.on_store_failed(StoreError("no"))
    assert connection.touched == 1
    assert not unwritten.too_much(flood)


def test_what_was_put_off_waits_while_much_does() -> None:
    world = slow_world()
    world.turn()
    world.commit()
    work = Once()
    world.bridge.turns.spread.put_off(work)
    counts = world.store.counts
    counts.octets_submitted = counts.octets_done + MUCH + 1
    assert world.bridge.next_deadline() is None
    assert not world.bridge.end_turn(world.now_ms)
    assert not work.done
    counts.octets_done = counts.octets_submitted
    world.bridge.end_turn(world.now_ms)
    assert work.done


def test_what_expires_is_looked_at_again_when_less_waits() -> None:
    world = slow_world()
    world.queue("q")
    world.host.publishing.publish(world.message(key="q", ttl_ms=5), None, 0)
    world.turn()
    due = world.bridge.next_deadline()
    assert due is not None
    counts = world.store.counts
    counts.octets_submitted = counts.octets_done + MUCH + 1
    assert world.bridge.next_deadline() is None
    counts.octets_done = counts.octets_submitted
    assert world.bridge.next_deadline() == due
