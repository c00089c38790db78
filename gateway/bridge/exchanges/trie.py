"""The binding keys of a topic exchange by their words: nodes, and walks along what is alone."""

from __future__ import annotations

from typing import final

from gateway.bridge.queues.queue import Queue


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
