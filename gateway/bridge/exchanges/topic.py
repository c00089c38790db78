"""The topic exchange: binding keys of words with wildcards, in a trie.

Words are separated by "."; "*" stands for exactly one word, "#" for any number of them, none
included. Matching walks the routing key once with the set of trie nodes that it may be at, so its
cost follows the number of words and of different wildcard prefixes, not of bindings: for one
binding, the words of the key by those of the pattern at most. What a key yielded is remembered
until a binding changes. A key of too many words, or one that needs too many steps, is refused.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.queues.queue import Queue
from gateway.message import Message
from gateway.wire.accounts import Account
from gateway.wire.tagged import Tagged
from gateway.wire.work import STEP, VERB, WORK

WORDS_MAX: Final = 1024  # of a key, whether of a message or of a binding
STEPS_MAX: Final = VERB // STEP
ROUTE_OCTETS: Final = 256  # what a remembered key takes, apart from itself and its queues
REMEMBERED_MAX: Final = 16_384  # a key that takes more is looked up each time


@final
class Node:
    """The keys that begin alike; queues of those that end here, and what goes on from here.

    What does not branch is not taken apart: the rest of a key that is alone is the node's `tail`,
    and its queues are the node's. Nodes with a tail have no children.

    Attributes:
        run: the walk along its tail that is under way.
    """

    __slots__ = (
        "any_words",
        "children",
        "mark",
        "one_word",
        "only",
        "others",
        "run",
        "stays",
        "tail",
    )

    def __init__(self, stays: bool) -> None:
        self.stays = stays  # behind a "#", which may take one more word
        self.children: dict[str, Node] | None = None
        self.one_word: Node | None = None
        self.any_words: Node | None = None
        self.tail: str | None = None
        # Most have one queue, if any: a dict for it would be larger than the node.
        self.only: Queue | None = None
        self.others: dict[int, Queue] | None = None
        self.mark = 0  # the step of a walk that came here last
        self.run: Run | None = None

    def child(self, word: str) -> Node | None:
        """The node behind `word` of a binding key."""
        if word == "*":
            return self.one_word
        if word == "#":
            return self.any_words
        return None if self.children is None else self.children.get(word)

    def make_child(self, word: str) -> Node:
        """The node behind `word` of a binding key, made if need be."""
        node = self.child(word)
        if node is None:
            node = Node(word == "#")
            if word == "*":
                self.one_word = node
            elif word == "#":
                self.any_words = node
            elif self.children is None:
                self.children = {word: node}
            else:
                self.children[word] = node
        return node

    def drop_child(self, word: str) -> None:
        """Forget the node behind `word`."""
        if word == "*":
            self.one_word = None
        elif word == "#":
            self.any_words = None
        elif self.children is not None:
            del self.children[word]
            if not self.children:
                self.children = None

    def leaf(self) -> bool:
        """Whether nothing branches off here."""
        return self.children is None and self.one_word is None and self.any_words is None

    def empty(self) -> bool:
        """Whether nothing ends here or goes on from here."""
        return self.only is None and self.leaf()

    def add(self, queue: Queue) -> None:
        """A key of `queue` ends here."""
        if self.only is None:
            self.only = queue
        elif self.only.number != queue.number:
            if self.others is None:
                self.others = {}
            self.others[queue.number] = queue

    def remove(self, queue: Queue) -> None:
        """None does any more."""
        others = self.others
        if self.only is None or self.only.number != queue.number:
            if others is not None:
                others.pop(queue.number, None)
        elif others:
            number = next(iter(others))
            self.only = others.pop(number)
        else:
            self.only = None
            self.tail = None
        if not others:
            self.others = None

    def collect(self, found: dict[int, Queue]) -> None:
        """Its queues, by number."""
        if self.only is not None:
            found[self.only.number] = self.only
            if self.others is not None:
                found.update(self.others)

    def push_down(self) -> None:
        """Take the first word off the tail: something branches off here, or ends here."""
        tail = self.tail
        assert tail is not None
        self.tail = None
        word, more, rest = tail.partition(".")
        child = self.make_child(word)
        child.tail = rest if more else None
        child.only = self.only
        child.others = self.others
        self.only = None
        self.others = None

    def pull_up(self) -> bool:
        """The opposite, where one key alone goes on from here; whether it was so."""
        if self.only is not None:
            return False
        word, child = "*", self.one_word
        several = 0 if child is None else 1
        if self.any_words is not None:
            several += 1
            word, child = "#", self.any_words
        if self.children is not None:
            several += len(self.children)
            word = next(iter(self.children))
            child = self.children[word]
        if several != 1 or child is None or not child.leaf():
            return False
        self.drop_child(word)
        self.tail = word if child.tail is None else f"{word}.{child.tail}"
        self.only = child.only
        self.others = child.others
        return True


@final
class Run:
    """A walk along the tail of a node: how many words of it may have been taken by now.

    Attributes:
        at: those numbers, ascending.
        arrived: the walk has come to the node with this word, or may have.
    """

    __slots__ = ("arrived", "at", "node", "words")

    def __init__(self, node: Node, tail: str) -> None:
        self.node = node
        self.words = tail.split(".")
        self.at: list[int] = []
        self.arrived = True

    def take(self, word: str) -> None:
        """One more word; first of all the one, if any, with which the walk came to the node."""
        words = self.words
        count = len(words)
        before = self.at
        at: list[int] = []
        self.at = at
        if self.arrived:
            self._reach(0)
            self.arrived = self.node.stays
        for taken in before:
            if taken == count:
                continue
            wanted = words[taken]
            if wanted == "#":
                self._reach(taken)
            elif wanted == "*" or wanted == word:
                self._reach(taken + 1)

    def _reach(self, taken: int) -> None:
        """Being in front of a "#" is being behind it, too, with no word taken."""
        at = self.at
        if not at or at[-1] < taken:
            at.append(taken)
        if taken < len(self.words) and self.words[taken] == "#" and at[-1] == taken:
            at.append(taken + 1)

    def ended(self) -> bool:
        """Whether all of the tail may have been taken."""
        return len(self.at) > 0 and self.at[-1] == len(self.words)


def words_of(key: str) -> list[str]:
    """A key's words; several "#" in a row mean what one does, so one is kept. "" has one word."""
    words: list[str] = []
    for word in key.split("."):
        if word != "#" or not words or words[-1] != "#":
            words.append(word)
    return words


def too_many_words(key: str) -> bool:
    """Whether a key has more words than may be matched."""
    return key.count(".") >= WORDS_MAX


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
