"""The topic trie against a naive matcher."""

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World
from support.work import grows_linearly, units_of

from gateway.bridge.exchanges.topic import TopicRouter
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.wire.accounts import Account
from gateway.wire.work import STEP, VERB, WORDS_MAX

WORDS = st.sampled_from(["a", "b", "c", ""])
KEYS = st.lists(WORDS, min_size=1, max_size=5).map(".".join)
PATTERNS = st.lists(st.sampled_from(["a", "b", "", "*", "#"]), min_size=1, max_size=5).map(".".join)


def matches(pattern: list[str], words: list[str]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(matches(pattern[1:], words[taken:]) for taken in range(len(words) + 1))
    if not words:
        return False
    return pattern[0] in ("*", words[0]) and matches(pattern[1:], words[1:])


def numbers(router: TopicRouter, world: World, key: str) -> list[int] | None:
    found = router.route(world.message(key=key))
    return None if found is None else [queue.number for queue in found]


def queue(number: int) -> Queue:
    return Queue(number, "/", f"q{number}", "", QueueSettings(), 0)


@given(
    st.lists(st.tuples(st.integers(0, 3), PATTERNS, st.booleans()), max_size=12),
    st.lists(KEYS, min_size=1, max_size=4),
)
def test_routes_as_a_naive_matcher_does_after_any_binds_and_unbinds(
    steps: list[tuple[int, str, bool]], keys: list[str]
) -> None:
    world = World()
    router = TopicRouter(cache_max=2, cached=Account())
    queues = [queue(number) for number in range(4)]
    bound: set[tuple[int, str]] = set()
    for number, pattern, bind in steps:
        identity = (number, pattern)
        if bind and identity not in bound:
            router.bind(queues[number], pattern, {})
            bound.add(identity)
        elif not bind and identity in bound:
            router.unbind(queues[number], pattern)
            bound.remove(identity)
        for key in keys:
            found = numbers(router, world, key)
            expected = {n for n, p in bound if matches(p.split("."), key.split("."))}
            assert found is not None
            assert sorted(found) == sorted(expected)


def test_many_bindings_that_do_not_match_are_not_visited() -> None:
    router = TopicRouter(cache_max=1, cached=Account())
    for number in range(2000):
        router.bind(queue(number), f"stock.{number}.#", {})
    assert numbers(router, World(), "stock.77.nyse.ibm") == [77]
    # Two nodes are met a word, however many bindings there are.
    assert sum(1 for node in (router._root.children or {}).values() if node.mark) <= 1


def test_all_is_forgotten_when_all_is_unbound() -> None:
    router = TopicRouter(cache_max=10, cached=Account())
    one = queue(1)
    for key in ("a.*.#", "a.b", "#", "a.#.#", "a.#"):
        router.bind(one, key, {})
    for key in ("a.#.#", "a.*.#", "a.b", "#"):
        router.unbind(one, key)
    assert router.route(World().message(key="a.x"))
    router.unbind(one, "a.#")
    assert router.route(World().message(key="a.x")) == []
    assert router._root.empty()


def test_a_long_key_costs_its_words_by_those_of_the_pattern() -> None:
    world = World()
    router = TopicRouter(cache_max=1, cached=Account())
    router.bind(queue(1), "#.*.#", {})

    def walk(words: int) -> int:
        return units_of(lambda: numbers(router, world, ".".join(["w"] * words)))

    assert grows_linearly(walk(100), walk(1000), 10)
    assert walk(999) <= 1000 * (4 + 1) * STEP


def test_a_key_of_too_many_words_is_refused_before_it_is_matched() -> None:
    world = World()
    router = TopicRouter(cache_max=1, cached=Account())
    router.bind(queue(1), "#.*.#", {})
    assert numbers(router, world, ".".join(["w"] * WORDS_MAX)) == [1]
    long = ".".join(["w"] * (WORDS_MAX + 1))
    assert numbers(router, world, long) is None
    assert units_of(lambda: numbers(router, world, long)) == 0


def test_bindings_that_would_make_a_key_cost_too_much_are_given_up_at_the_limit() -> None:
    world = World()
    router = TopicRouter(cache_max=1, cached=Account())
    router.bind(queue(7), "w.7", {})
    router.bind(queue(1), ".".join(["#.w"] * 300), {})
    key = ".".join(["w"] * WORDS_MAX)
    assert numbers(router, world, key) is None
    assert VERB < units_of(lambda: numbers(router, world, key)) <= VERB + 1000 * STEP
    assert numbers(router, world, "w.7") == [7]


def test_keys_that_do_not_branch_take_no_more_than_their_octets() -> None:
    router = TopicRouter(cache_max=1, cached=Account())
    for number in range(100):
        router.bind(queue(number), f"{number}" + ".a" * 125, {})
    children = router._root.children or {}
    assert len(children) == 100
    assert all(node.leaf() for node in children.values())
    assert numbers(router, World(), "77" + ".a" * 125) == [77]
    assert numbers(router, World(), "77" + ".a" * 124) == []


def test_what_branched_and_does_not_any_more_is_put_together_again() -> None:
    router = TopicRouter(cache_max=1, cached=Account())
    for number, key in enumerate(("a.b.c.d", "a.b.c.e")):
        router.bind(queue(number), key, {})
    router.unbind(queue(1), "a.b.c.e")
    assert router._root.tail == "a.b.c.d"


def test_what_is_remembered_is_counted_in_octets_and_bounded() -> None:
    world = World()
    cached = Account(limit=20_000)
    routers = [TopicRouter(cache_max=1000, cached=cached) for _ in range(2)]
    for number, router in enumerate(routers):
        router.bind(queue(number), "#", {})
        for key in range(200):
            assert numbers(router, world, f"{key}" + "x" * 200) == [number]
            assert cached.held <= 20_000
    assert numbers(routers[0], world, "x" * 200_000) == [0]
    assert 0 < cached.held <= 20_000
    for router in routers:
        router.forget()
    assert cached.held == 0
