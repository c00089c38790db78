"""Work, counted in units as memory is in octets: what a verb costs the one thread that does it all.

A unit is about a fiftieth of a microsecond in the compiled form and a tenth in the pure one, on a
machine of 2026; `tests/bench/work.py` measures each primitive of the table below. Units depend on
what is asked for and on nothing else, so that a limit in units holds at the same place everywhere;
but a step of a TLS handshake, of which nobody can tell before what it will be, is at least what it
took of the thread's time (`net.tls.layer`).

Whoever does work in a loop that a peer can lengthen adds what it cost to `WORK`, once a loop. Who
lets peers ask for more of it compares: a connection's events wait for the next turn once the
connection has had its `SHARE` of this one, dispatching stops at its `SHARE`, and one verb that
would need more than `VERB` is refused.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.errors import TooMuchWorkError

# Primitives, in units.
READING: Final = 300  # there is something to read on a connection, beside its octets
READ: Final = 10  # a frame is taken apart, whatever it is and whoever it is for
COUNTED: Final = 20  # a queue is counted for the metrics, or by name
TOLD: Final = 1000  # an operator is told of a connection or a subscription
ASKED: Final = 2000  # a request at the admin port is taken apart and passed on, beside its octets
ASKED_OCTET: Final = 8  # an octet of it
ANSWERED: Final = 1000  # an answer that was gathered is begun
CHECKPOINT: Final = 20  # the audit log is told what a queue, a subscription or an exchange has
COMMAND: Final = 200  # a command of any kind but a transfer: taken apart, carried out, answered
FLUSHED: Final = 100  # a message.flush is over: told, mostly not in the order of the commands
CONTROL: Final = 20  # a control of 0-10 is taken apart, and carried out beside its ranges, each
FRAME: Final = 100  # a begin, attach, detach or end of 1.0 is taken apart, before it is a command
STATE: Final = 25  # a flow or a disposition of 1.0 is taken apart
UNSETTLED: Final = 20  # a delivery of an attach's unsettled map is taken apart
SETTLING: Final = 30  # a command that settles, or a disposition, beside its deliveries
TRANSFER: Final = 160  # one of either protocol is framed, read and confirmed, beside its publish
PUBLISH: Final = 40  # a message, beside its copies
COPY: Final = 30  # a copy comes into a queue, or leaves it
OFFERED: Final = 40  # a delivery is offered to an outlet, which takes it or is full
SENDING: Final = 190  # and is sent: digested, framed and remembered, beside its translation
DELIVERY: Final = 20  # a delivery is settled
LOOK: Final = 2  # a delivery, or a copy, is looked at
SUBSCRIPTION: Final = 3  # a subscription is told that there is room again
NODE: Final = 600  # a queue or an exchange is made, or deleted, beside its bindings
BINDING: Final = 60  # a binding comes, or goes, beside the words of its key
ATTACHED: Final = 500  # a link of 1.0 is granted, beside its command: all that it consists of
ABSENT: Final = 600  # a session or link is kept without its connection, beside its deliveries
LINK: Final = 80  # a subscription or a link ends, beside its deliveries
MATCH: Final = 3  # a binding is looked at by exchange.bound, a header or an argument by a router
STEP: Final = 2  # a word of a routing key meets a node of the bindings' tree, or one of a rule's
PART: Final = 5  # a part of a selector
CHARACTER: Final = 12  # of a selector that is read
CROSSING: Final = 100  # a message is translated, beside the values in it
ELEMENT: Final = 5  # a value in a list, map or array is decoded
ARGUMENT: Final = 20  # and kept with its command or frame: objects in memory that is new
HEADER_SEEN: Final = 40  # a header is made ready for routers and filters, beside its decoding
CONVERSION: Final = 25  # and converted, and encoded for the other protocol
RANGE: Final = 10  # a range of command or delivery ids is decoded, looked at, or told
TLS_RECORD: Final = 80  # a record of TLS is opened, whatever is in it
TLS_KEY_UPDATE: Final = 900  # and brings new keys, and is answered with ours
TLS_STEP: Final = 400  # one of a handshake, at least: certificates may be shown in it
TLS_HANDSHAKE: Final = 25_000  # a handshake, at least: its keys are agreed on, and our key signs
TLS_ENDED: Final = 2000  # a connection of TLS is over, beside its transport and what it was for
BEGUN: Final = 6000  # a connection has come: it is accepted, placed, and gets its faces
ENDED: Final = 2000  # a connection is over, beside what it had
RULE: Final = 5  # an access rule is looked at, beside what its patterns are tried with

# How many for one unit.
CHARACTERS_SEARCHED: Final = 8  # of a text that a selector or a rule searches or compares
CHARACTERS_TRIED: Final = 32  # of such a text, by those of a pattern with wildcards
OCTETS_READ: Final = 8  # taken from a transport: copied, digested and kept, whatever they are
OCTETS_COPIED: Final = 64  # of an answer; of what came in several frames, when it is over
OCTETS_SENT: Final = 32  # of a message that is delivered: digested, framed, written
OCTETS_OPENED: Final = 128  # of what came by TLS

# Limits, in units.
SHARE: Final = 50_000  # of one connection, and of dispatching, in one turn: 1 ms, pure 5
SLICES: Final = 8  # of that of dispatching, which queues have in turn
SLICE: Final = SHARE // SLICES
USER: Final = 5 * SHARE  # of one user, or those who want that much, in one turn: 5 ms, pure 25
EVERYBODY: Final = 2 * USER  # of all users in one turn, whatever each of them asks for
STRANGERS: Final = 2 * SHARE  # of those of one address that have not logged in, in one turn
ALL_STRANGERS: Final = 4 * STRANGERS  # of all that have not
VERB: Final = 500_000  # what one verb may cost at most: 10 ms, pure 50

WORDS_MAX: Final = 1024  # of a routing key, whether of a message, of a binding or asked about

ELEMENTS_MAX: Final = 10_000  # what `Work.elements_max` is if nobody says


@final
class Work:
    """The work of this process.

    Attributes:
        units: done since start.
        cut: how often somebody's work went on in a later turn.
        refused: verbs refused because they would have cost more than `VERB`.
        given_up: selectors given up on a message because that one cost more than `VERB`.
        end: of the selector that is evaluated now: the units at which it is given up.
        elements_max: how many values the lists, maps and arrays of one command or message may have
            together, without the keys of maps; one that has more is not decoded.
    """

    __slots__ = ("cut", "elements_max", "end", "given_up", "refused", "units")

    def __init__(self) -> None:
        self.units: int64 = 0
        self.cut = 0
        self.refused = 0
        self.given_up = 0
        self.end: int64 = 0
        self.elements_max: int64 = ELEMENTS_MAX

    def begin(self) -> None:
        """A selector is evaluated from now on, for `VERB` units at most."""
        self.end = self.units + VERB

    def look(self, units: int64) -> None:
        """The selector has looked at so much; `TooMuchWorkError` if that was too much."""
        self.units += units
        if self.units > self.end:
            raise TooMuchWorkError("a selector looks at too much of a message")

    def foresee(self, units: int64) -> None:
        """The selector may have to look at so much next; `TooMuchWorkError` if that is too much."""
        if self.units + units > self.end:
            raise TooMuchWorkError("a selector would look at too much of a message")


def too_many_words(key: str) -> bool:
    """Whether a routing key has more words than may be matched with anything."""
    return key.count(".") >= WORDS_MAX


WORK: Final = Work()  # one thread does all of it
