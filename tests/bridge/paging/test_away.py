"""What stays of a page, and its copies as octets and back."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World

from gateway.bridge.paging.away import AwayPage, found_in, octets_of
from gateway.bridge.queues.bands import KIND_FILE, KIND_STREAM
from gateway.bridge.queues.places import PAGE_MASK, Entry, Page, Places
from gateway.bridge.quotas import NOBODY, Quota, Stock
from gateway.bridge.tickets import Ticket
from gateway.errors import DecodeError
from gateway.message import Flag

WORLD = World()
QUEUE = 7
FIELDS = (
    *("id", "encoding", "payload", "body_at", "message_format", "durable", "priority", "ttl_ms"),
    *("expires_ms", "arrived_ms", "exchange", "routing_key", "delivery_count", "flags"),
    *("publisher", "id_digest", "body_digest", "reader"),
)
COPIES = st.lists(
    st.tuples(
        st.booleans(), st.booleans(), st.integers(0, 3), st.binary(max_size=9), st.integers(1, 9)
    ),
    min_size=1,
    max_size=30,
)


def page_of(copies: list[tuple[bool, bool, int, bytes, int]]) -> Page:
    """Every third place is empty."""
    other = Stock(Quota(5), Quota(5))
    places = Places()
    for at, (durable, ours, failures, added, publisher) in enumerate(copies):
        message = WORLD.message(b"%d" % at * at, durable=durable, priority=at % 10, ttl_ms=at + 1)
        message.publisher = publisher
        stock = NOBODY if ours else other
        entry = Entry(512 + at + at // 2, message, failures, durable, stock)
        entry.annotations = added
        places.append(entry)
    tail = places.tail
    assert tail is not None
    return tail


def as_told(entry: Entry | None) -> object:
    if entry is None:
        return None
    message = entry.message
    told = [getattr(message, name) for name in FIELDS]
    return entry.position, entry.delivery_count, entry.durable, entry.annotations, told


@given(COPIES)
def test_copies_come_back_as_they_were(
    copies: list[tuple[bool, bool, int, bytes, int]],
) -> None:
    page = page_of(copies)
    away = AwayPage()
    assert away.fill(page, sized=False)
    octets = octets_of(page, QUEUE)
    back = away.back(page.number, found_in(octets, QUEUE), 0)
    assert [as_told(entry) for entry in back.entries] == [as_told(entry) for entry in page.entries]
    for found, entry in zip(back.entries, page.entries, strict=True):
        assert found is None or (entry is not None and found.stock is entry.stock)
    assert (back.lost, back.payload) == ([], away.payload)
    assert away.messages == len(copies)
    assert away.logged == all(durable for durable, *_ in copies)
    assert {index for index in range(256) if away.has(index)} == {
        index for index, entry in enumerate(page.entries) if entry is not None
    }


def test_what_is_not_found_or_another_message_is_lost() -> None:
    page = page_of([(False, True, 0, b"", 1)] * 5)
    away = AwayPage()
    assert away.fill(page, sized=False)
    found = found_in(octets_of(page, QUEUE), QUEUE)
    first, second, *_ = sorted(found)
    del found[first]
    found[second].message = WORLD.message()
    back = away.back(page.number, found, 0)
    assert [position for position, _, _ in back.lost] == [first, second]
    assert back.messages == [2]
    assert away.payload - back.payload == back.octets[0] == 0 + 1


def test_octets_that_end_too_early_are_none() -> None:
    page = page_of([(False, True, 0, b"", 1)] * 5)
    octets = octets_of(page, QUEUE)
    with pytest.raises(DecodeError):
        found_in(octets[:-1], QUEUE)


@pytest.mark.parametrize("what", ["held", "awaited"])
def test_a_page_stays_if_one_of_its_copies_has_to(what: str) -> None:
    page = page_of([(False, True, 0, b"", 1)] * 5)
    entry = page.entries[-1]
    assert entry is not None
    if what == "held":
        entry.holder = 3
    else:
        entry.ticket = Ticket(None, 0, 1)  # type: ignore[arg-type]  # nobody is told
    assert not AwayPage().fill(page, sized=False)


@given(COPIES, st.randoms())
def test_what_is_taken_out_is_not_missed_and_the_rest_comes_back(
    copies: list[tuple[bool, bool, int, bytes, int]], chance: Random
) -> None:
    page = page_of([(*each[:3], b"", each[4]) for each in copies])
    away = AwayPage()
    assert away.fill(page, sized=True)
    octets = octets_of(page, QUEUE)
    whole = away.octets
    entries = [entry for entry in page.entries if entry is not None]
    taken = [entry for entry in entries if chance.random() < 0.5]
    for entry in taken:
        copy = away.take(entry.position)
        told = (copy.message, copy.durable, copy.size)
        assert told == (entry.message.id, entry.durable, len(entry.message.payload))
        assert copy.stock is entry.stock
        page.entries[entry.position & PAGE_MASK] = None
    back = away.back(page.number, found_in(octets, QUEUE), 0)
    assert back.lost == []
    assert [as_told(entry) for entry in back.entries if entry] == [
        as_told(entry) for entry in page.entries if entry
    ]
    assert (away.messages, away.payload) == (len(entries) - len(taken), back.payload)
    assert whole - away.octets == sum(len(entry.message.payload) for entry in taken)
    assert sum(source.messages for source in away.sources) == away.messages


def test_a_page_of_which_copies_may_be_taken_out_has_none_with_annotations() -> None:
    page = page_of([(False, True, 0, b"x", 1)])
    assert not AwayPage().fill(page, sized=True)


def test_whom_copies_are_kept_from_is_known_when_they_are_back() -> None:
    page = page_of([(False, True, 0, b"", 1)] * 5)
    kept: list[set[int] | None] = [{3}, None, {3, -7}, {3}, None]
    for entry, whom in zip([each for each in page.entries if each], kept, strict=True):
        entry.excluded = whom
    away = AwayPage()
    assert away.fill(page, sized=False)
    back = away.back(page.number, found_in(octets_of(page, QUEUE), QUEUE), 0)
    entries = [entry for entry in back.entries if entry is not None]
    assert [entry.excluded for entry in entries] == kept
    first, *_, last, _ = entries
    assert first.excluded is not last.excluded  # each may be kept from more


def test_what_is_lost_or_taken_out_is_known_by_its_kind() -> None:
    places = Places()
    flags = [0, Flag.FILE, Flag.STREAM, Flag.FILE]
    for position, flag in enumerate(flags):
        message = WORLD.message(b"x", priority=9 if position > 1 else 0, flags=flag)
        places.append(Entry(position, message, 0, False))
    page = places.tail
    assert page is not None
    kinds = [0, KIND_FILE, KIND_STREAM | 9, KIND_FILE | 9]
    lost = AwayPage()
    assert lost.fill(page, sized=False)
    assert [kind for _, _, kind in lost.back(0, {}, 0).lost] == kinds
    away = AwayPage()
    assert away.fill(page, sized=True)
    assert [away.take(position).kind for position in range(len(flags))] == kinds
