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
from gateway.wire.tagged import Tagged
from gateway.wire.work import STEP, VERB, WORK

WORDS_MAX: Final = 1024  # of a key, whether of a message or of a binding
STEPS_MAX: Final = VERB // STEP


@final
class Node:
    """The keys that begin alike; `queues` holds those that end here, by queue number."""

    __slots__ = ("any_words", "children", "mark", "one_word", "queues", "stays")

    def __init__(self, stays: bool) -> None:
        self.stays = stays  # behind a "#", which may take one more word
        self.children: dict[str, Node] = {}
        self.one_word: Node | None = None
        self.any_words: Node | None = None
        self.queues: dict[int, Queue] = {}
        self.mark = 0  # the step of a walk that came here last

    def child(self, word: str) -> Node | None:
        """The node behind `word` of a binding key."""
        if word == "*":
            return self.one_word
        if word == "#":
            return self.any_words
        return self.children.get(word)

    def make_child(self, word: str) -> Node:
        """The node behind `word` of a binding key, made if need be."""
        node = self.child(word)
        if node is None:
            node = Node(word == "#")
            if word == "*":
                self.one_word = node
            elif word == "#":
                self.any_words = node
            else:
                self.children[word] = node
        return node

    def drop_child(self, word: str) -> None:
        """Forget the node behind `word`."""
        if word == "*":
            self.one_word = None
        elif word == "#":
            self.any_words = None
        else:
            del self.children[word]

    def empty(self) -> bool:
        """Whether nothing ends here or goes on from here."""
        return not (self.queues or self.children or self.one_word or self.any_words)


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
    """A `Router` by wildcards."""

    __slots__ = ("_cache", "_cache_max", "_keys", "_root", "_step")

    def __init__(self, cache_max: int) -> None:
        self._root = Node(False)
        self._cache: dict[str, list[Queue]] = {}
        self._cache_max = cache_max
        self._step = 0
        # "a.#.#" and "a.#" end at the same node: a queue leaves it with its last key.
        self._keys: dict[tuple[int, str], int] = {}

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """Add a pattern of `queue`."""
        words = words_of(key)
        node = self._root
        for word in words:
            node = node.make_child(word)
        node.queues[queue.number] = queue
        identity = (queue.number, ".".join(words))
        self._keys[identity] = self._keys.get(identity, 0) + 1
        self._cache.clear()

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
        self._cache.clear()

    def _remove(self, queue: Queue, words: list[str]) -> None:
        path = [self._root]
        for word in words:
            node = path[-1].child(word)
            if node is None:
                return
            path.append(node)
        path[-1].queues.pop(queue.number, None)
        at = len(words)
        while at > 0 and path[at].empty():
            at -= 1
            path[at].drop_child(words[at])

    def route(self, message: Message) -> list[Queue] | None:
        """The queues of all patterns that the routing key matches, each once."""
        key = message.routing_key
        found = self._cache.get(key)
        if found is None:
            found = None if too_many_words(key) else self._walk(key)
            if found is None:
                return None
            if len(self._cache) >= self._cache_max:
                self._cache.clear()
            self._cache[key] = found
        return found

    def _walk(self, key: str) -> list[Queue] | None:
        at: list[Node] = []
        self._step += 1
        self._arrive(at, self._root)
        steps = 0
        for word in key.split("."):
            steps += len(at) + 1
            if steps > STEPS_MAX:
                WORK.units += steps * STEP
                return None
            behind: list[Node] = []
            self._step += 1
            for node in at:
                if node.stays:
                    self._arrive(behind, node)
                if node.one_word is not None:
                    self._arrive(behind, node.one_word)
                # A wildcard in a routing key is an ordinary word, and only wildcards match it.
                child = node.children.get(word)
                if child is not None:
                    self._arrive(behind, child)
            at = behind
        WORK.units += (steps + len(at)) * STEP
        queues: dict[int, Queue] = {}
        for node in at:
            queues.update(node.queues)
        return list(queues.values())

    def _arrive(self, nodes: list[Node], node: Node) -> None:
        """Being at a node is being behind its "#" too, with no word taken."""
        if node.mark == self._step:
            return
        node.mark = self._step
        nodes.append(node)
        if node.any_words is not None:
            self._arrive(nodes, node.any_words)
