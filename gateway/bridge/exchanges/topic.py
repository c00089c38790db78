"""The topic exchange: binding keys of words with wildcards, in a trie (`trie`).

Words are separated by "."; "*" stands for exactly one word, "#" for any number of them, none
included. Matching walks the routing key once with the set of trie nodes that it may be at, so its
cost follows the number of words and of different wildcard prefixes, not of bindings: for one
binding, the words of the key by those of the pattern at most. What a key yielded is remembered
until a binding changes. A key of too many words, or one that needs too many steps, is refused.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.exchanges.trie import Node, Run, words_of
from gateway.bridge.queues.queue import Queue
from gateway.message import Message
from gateway.wire.accounts import Account
from gateway.wire.tagged import Tagged
from gateway.wire.work import STEP, VERB, WORK, too_many_words

STEPS_MAX: Final = VERB // STEP
ROUTE_OCTETS: Final = 256  # what a remembered key takes, apart from itself and its queues
REMEMBERED_MAX: Final = 16_384  # a key that takes more is looked up each time


@final
class TopicRouter:
    """A `Router` by wildcards.

    Attributes:
        cached: octets of what is remembered, by all routers of a virtual host.
    """

    __slots__ = ("_cache", "_cache_max", "_keys", "_remembered", "_root", "_step", "cached")

    def __init__(self, cache_max: int, cached: Account) -> None:
        self.cached = cached
        self._remembered = 0
        self._root = Node(False)
        self._cache: dict[str, list[Queue]] = {}
        self._cache_max = cache_max
        self._step = 0
        # "a.#.#" and "a.#" end at the same node: a queue leaves it with its last key.
        self._keys: dict[tuple[int, str], int] = {}

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add a pattern of `queue`."""
        words = words_of(key)
        self._put(queue, words)
        plain = ".".join(words)
        identity = (queue.number, key if plain == key else plain)  # mostly it is, and kept already
        self._keys[identity] = self._keys.get(identity, 0) + 1
        self.forget()

    def unbind(self, queue: Queue, key: str) -> None:
        """Remove it; the same pattern, written otherwise, may be bound still."""
        words = words_of(key)
        identity = (queue.number, ".".join(words))
        left = self._keys[identity] - 1
        if left:
            self._keys[identity] = left
            return
        del self._keys[identity]
        self._remove(queue, words)
        self.forget()

    def _put(self, queue: Queue, words: list[str]) -> None:
        node = self._root
        for at, word in enumerate(words):
            if node.tail is None:
                if node.empty():
                    node.tail = ".".join(words[at:])
                    break
            elif node.tail == ".".join(words[at:]):
                break
            else:
                node.push_down()
            node = node.make_child(word)
        else:
            if node.tail is not None:
                node.push_down()
        node.add(queue)

    def _remove(self, queue: Queue, words: list[str]) -> None:
        path = [self._root]
        for word in words:
            if path[-1].tail is not None:
                break
            node = path[-1].child(word)
            if node is None:
                return
            path.append(node)
        path[-1].remove(queue)
        at = len(path) - 1
        while at > 0 and path[at].empty():
            at -= 1
            path[at].drop_child(words[at])
        while at >= 0 and path[at].pull_up():
            at -= 1

    def route(self, message: Message) -> list[Queue] | None:
        """The queues of all patterns that the routing key matches, each once."""
        key = message.routing_key
        found = self._cache.get(key)
        if found is None:
            found = None if too_many_words(key) else self._walk(key)
            if found is None:
                return None
            self._remember(key, found)
        return found

    def _remember(self, key: str, found: list[Queue]) -> None:
        octets = ROUTE_OCTETS + 4 * len(key) + 8 * len(found)
        if octets > REMEMBERED_MAX:
            return
        if len(self._cache) >= self._cache_max:
            self.forget()
        if not self.cached.take(octets):
            self.forget()
            if not self.cached.take(octets):
                return  # others remember that much
        self._remembered += octets
        self._cache[key] = found

    def forget(self) -> None:
        """Remember nothing."""
        self._cache.clear()
        self.cached.give(self._remembered)
        self._remembered = 0

    def _walk(self, key: str) -> list[Queue] | None:
        at: list[Node] = []
        runs: list[Run] = []
        self._step += 1
        self._arrive(at, runs, self._root)
        steps = _advance(runs, "")
        for word in key.split("."):
            steps += len(at) + 1
            if steps > STEPS_MAX:
                WORK.units += steps * STEP
                _forget(runs)
                return None
            behind: list[Node] = []
            self._step += 1
            for node in at:
                if node.stays:
                    self._arrive(behind, runs, node)
                if node.one_word is not None:
                    self._arrive(behind, runs, node.one_word)
                # A wildcard in a routing key is an ordinary word, and only wildcards match it.
                child = None if node.children is None else node.children.get(word)
                if child is not None:
                    self._arrive(behind, runs, child)
            at = behind
            if runs:
                steps += _advance(runs, word)
                runs = [run for run in runs if run.node.run is run]
        WORK.units += (steps + len(at)) * STEP
        queues: dict[int, Queue] = {}
        for node in at:
            node.collect(queues)
        for run in runs:
            if run.ended():
                run.node.collect(queues)
        _forget(runs)
        return list(queues.values())

    def _arrive(self, nodes: list[Node], runs: list[Run], node: Node) -> None:
        """Being at a node is being behind its "#" too, with no word taken."""
        if node.mark == self._step:
            return
        node.mark = self._step
        if node.tail is not None:
            run = node.run
            if run is None:
                run = Run(node, node.tail)
                node.run = run
                runs.append(run)
            run.arrived = True
            return
        nodes.append(node)
        if node.any_words is not None:
            self._arrive(nodes, runs, node.any_words)


def _advance(runs: list[Run], word: str) -> int:
    """Take a word in each; how many steps that was. Those that lead nowhere are forgotten."""
    steps = 0
    for run in runs:
        steps += len(run.at)
        run.take(word)
        if not run.at and not run.arrived:
            run.node.run = None
    return steps


def _forget(runs: list[Run]) -> None:
    for run in runs:
        run.node.run = None
