"""What is staged in a virtual host: parts, and what of them comes back after a crash."""

from support.bridge_world import World

from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.staging.area import PART_MIN, Staged, StagingArea
from gateway.bridge.staging.rows import PartRow, StagedRow
from gateway.message import Refusal
from gateway.store.interface import TopologyRow


def area(world: World) -> StagingArea:
    return world.host.staging


def opened(world: World, identifier: str = "f", size: int = 100_000) -> Staged:
    staged = area(world).open("ann", identifier, size, 1, world.now_ms)
    assert not isinstance(staged, Refusal)
    return staged


def test_parts_are_one_content_after_a_crash() -> None:
    world = World()
    staged = opened(world)
    area(world).describe(staged, b"header", world.now_ms)
    for part in (b"a" * 20_000, b"b" * 5, b"c" * 30_000):
        area(world).append(staged, part, world.now_ms)
        world.turn()
    held = world.bridge.pressure.octets
    world.crash()
    again = area(world).find("ann", "f")
    assert again is not None
    assert (again.octets, again.size, again.header) == (50_005, 100_000, b"header")
    assert again.content() == b"a" * 20_000 + b"b" * 5 + b"c" * 30_000
    assert world.bridge.pressure.octets == held


def test_small_parts_do_not_make_many_rows() -> None:
    world = World()
    staged = opened(world)
    for _ in range(3 * PART_MIN // 100):
        area(world).append(staged, b"x" * 100, world.now_ms)
    world.turn()
    assert len(staged.parts) == 3
    world.crash()
    again = area(world).find("ann", "f")
    assert again is not None and again.content() == b"x" * (3 * PART_MIN // 100) * 100


def test_what_is_removed_leaves_nothing() -> None:
    world = World()
    staged = opened(world)
    area(world).append(staged, b"x" * 20_000, world.now_ms)
    world.turn()
    area(world).remove(staged)
    area(world).remove(staged)
    world.turn()
    assert (world.bridge.pressure.octets, world.bridge.pressure.messages) == (0, 0)
    world.crash()
    assert area(world).find("ann", "f") is None
    assert area(world).next_ms() is None


def test_of_parts_that_do_not_join_the_rest_is_cut_off() -> None:
    world = World()
    rows = [
        StagedRow("/", "ann", "f", 100, 5, b"header"),
        PartRow("/", "ann", "f", 0, 0, 7, b"first"),
        PartRow("/", "ann", "f", 1, 9, 7, b"torn"),
        PartRow("/", "ann", "gone", 0, 0, 7, b"x"),
        StagedRow("other host", "ann", "f", 100, 5, b""),
        PartRow("other host", "ann", "f", 0, 0, 7, b"x"),
    ]
    stored = [
        TopologyRow(
            int(RowKind.STAGED if isinstance(row, StagedRow) else RowKind.STAGED_PART),
            row.key(),
            row.encoded(),
        )
        for row in rows
    ]
    problems: list[str] = []
    area(world).recover([*stored, TopologyRow(int(RowKind.STAGED), "key", b"\x09")], problems)
    staged = area(world).find("ann", "f")
    assert staged is not None
    assert (staged.content(), staged.at_ms) == (b"first", 7)
    assert len(area(world)) == 1
    assert len(problems) == 1 and "'key'" in problems[0]


def test_the_one_that_nothing_was_heard_of_for_longest_goes_first() -> None:
    limits = BridgeLimits(staging_timeout_ms=1_000)
    world = World(limits=limits)
    first = opened(world, "first")
    world.pass_time(500)
    opened(world, "second")
    world.pass_time(400)
    area(world).append(first, b"more", world.now_ms)
    world.pass_time(600)
    assert area(world).find("ann", "second") is None
    assert area(world).find("ann", "first") is first
    world.pass_time(400)
    assert len(area(world)) == 0
    world.check()


def test_each_user_may_have_so_much_of_it() -> None:
    world = World(limits=BridgeLimits(staging_octets_max=3_000))
    opened(world, "f", 1_900)
    refused = area(world).open("ann", "g", 100, 1, world.now_ms)
    assert isinstance(refused, Refusal)
    assert not isinstance(area(world).open("bob", "g", 1_900, 2, world.now_ms), Refusal)


def test_what_is_staged_makes_nobody_else_wait_and_leaves_others_room() -> None:
    high = 1_000_000
    world = World(limits=BridgeLimits(octets_high=high, octets_low=high // 2))
    for user in ("ann", "bob", "cid", "dan"):
        opened_one = []
        for number in range(100):
            staged = area(world).open(user, str(number), 10_000, 1, world.now_ms)
            if isinstance(staged, Refusal):
                break
            area(world).append(staged, b"x" * 10_000, world.now_ms)
            opened_one.append(staged)
        world.turn()
        assert opened_one and isinstance(staged, Refusal), user
    assert not world.bridge.pressure.high
    assert world.bridge.pressure.octets < high // 2
    for staged in opened_one:
        area(world).remove(staged)
    assert not isinstance(area(world).open("dan", "again", 10_000, 1, world.now_ms), Refusal)


def test_to_open_it_again_and_again_does_not_keep_it() -> None:
    world = World(limits=BridgeLimits(staging_timeout_ms=1_000))
    area(world).append(opened(world), b"x" * 100, world.now_ms)
    world.now_ms += 900
    assert opened(world).octets == 100
    world.now_ms += 200
    area(world).expire(world.now_ms, 10)
    assert area(world).find("ann", "f") is None
