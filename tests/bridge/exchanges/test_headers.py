"""The headers exchange against a naive matcher."""

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World
from support.work import grows_linearly, units_of

from gateway.bridge.exchanges.headers import HeadersRouter, match_of
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.message import Kind
from gateway.wire.tagged import Tagged
from gateway.wire.work import MATCH, VERB

VALUES = st.sampled_from(
    [
        Tagged(Kind.NULL, None),
        Tagged(Kind.INTEGER, 1),
        Tagged(Kind.REAL, 1.0),
        Tagged(Kind.BOOLEAN, True),
        Tagged(Kind.STRING, "x"),
        Tagged(Kind.BINARY, b"x"),
        Tagged(Kind.BINARY, b"\xff"),
        Tagged(Kind.OTHER, [1]),
    ]
)
NAMES = st.sampled_from(["a", "b", "c", "qpid.x"])
TABLES = st.dictionaries(NAMES, VALUES, max_size=3)


def told(value: Tagged) -> tuple[int, object]:
    """What is text is text, however it was sent."""
    return (Kind.STRING, "x") if value.value == b"x" else (value.code, value.value)


def matches(arguments: dict[str, Tagged], every: bool, headers: dict[str, Tagged]) -> bool:
    def fits(name: str, value: Tagged) -> bool:
        header = headers.get(name)
        if header is None or value.code == Kind.OTHER:
            return False
        return value.code == Kind.NULL or (told(header) == told(value))

    wanted = {name: value for name, value in arguments.items() if not name.startswith("qpid.")}
    found = [fits(name, value) for name, value in wanted.items()]
    return all(found) if every else any(found)


@given(st.lists(st.tuples(TABLES, st.booleans()), max_size=6), TABLES, st.integers(0, 6))
def test_routes_as_a_naive_matcher_does(
    bindings: list[tuple[dict[str, Tagged], bool]], headers: dict[str, Tagged], removed: int
) -> None:
    world = World()
    router = HeadersRouter()
    queues = [
        Queue(number, "/", f"q{number}", "", QueueSettings(), 0) for number in range(len(bindings))
    ]
    for (table, every), queue in zip(bindings, queues, strict=True):
        match = Tagged(Kind.STRING, "all" if every else "any")
        router.bind(queue, "key", {**table, "x-match": match})
    expected = {
        number
        for number, (table, every) in enumerate(bindings)
        if number != removed and matches(table, every, headers)
    }
    if removed < len(queues):
        router.unbind(queues[removed], "key")
    found = router.route(world.message(headers=headers))
    assert found is not None
    assert sorted([queue.number for queue in found]) == sorted(expected)


def test_x_match_is_all_when_absent_and_refused_when_it_is_neither() -> None:
    assert match_of({}) == "all"
    assert match_of({"x-match": Tagged(Kind.STRING, "any")}) == "any"
    assert match_of({"x-match": Tagged(Kind.BINARY, b"any")}) == "any"
    assert match_of({"x-match": Tagged(Kind.STRING, "some")}) == ""


def test_a_message_costs_the_bindings_that_its_headers_lead_to_until_it_is_given_up() -> None:
    world = World()
    headers = {"h": Tagged(Kind.INTEGER, 1)}
    table = {**headers, "absent": Tagged(Kind.NULL, None)}
    router = HeadersRouter()

    def bind(first: int, end: int) -> None:
        for number in range(first, end):
            router.bind(Queue(number, "/", f"q{number}", "", QueueSettings(), 0), "", table)

    def route() -> list[Queue] | None:
        return router.route(world.message(headers=headers))

    bind(0, 1000)
    small = units_of(route)
    bind(1000, 2000)
    assert grows_linearly(small, units_of(route), 2)
    bind(2000, 60_000)
    assert route() is None
    assert units_of(route) <= VERB + 3 * MATCH
    assert router.route(world.message(headers={"absent": Tagged(Kind.INTEGER, 7)})) == []
