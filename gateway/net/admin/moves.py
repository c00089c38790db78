"""What `GET /ctl/moves` shows of queues whose messages are moved, and its metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gateway.metrics import Reader, Sample
from gateway.net.upstreams.move import End, Move
from gateway.net.upstreams.moves import Moves

Told = dict[str, Any]  # Any: what JSON holds


def moves_shown(moves: Moves) -> Iterator[str]:
    """Those that are under way, and the latest that are over, as JSON, in pieces."""
    yield '{"moves": ['
    between = ""
    for move in list(moves.known.values()):
        yield between + json.dumps(told(move), ensure_ascii=False)
        between = ", "
    yield "]}"


def told(move: Move) -> Told:
    """One of them."""
    carrier = move.carrier
    return {
        "move": move.number,
        "virtual_host": move.wanted.host,
        "from": _end(move.wanted.source),
        "to": _end(move.wanted.target),
        "rate": move.wanted.rate,
        "follow": move.wanted.follow,
        "state": move.state,
        "over": move.over,
        "problem": move.problem,
        "moved": carrier.moved,
        "under_way": carrier.open,
        "redelivered": carrier.redelivered,
        "refused": carrier.refused,
        "why_refused": carrier.problem,
        "left": None if move.left < 0 else move.left,
    }


def _end(end: End) -> Told:
    return {"upstream": end.upstream, "queue": end.queue}


def move_readers(moves: Moves) -> dict[str, Reader]:
    """A reader for each row that begins with ``gateway_move``."""
    return {
        "gateway_moves": lambda: _by_state(moves),
        "gateway_moved_messages_total": lambda: [
            ((*ends, result), count)
            for ends, sums in moves.sums()
            for result, count in (("moved", sums.moved), ("refused", sums.refused))
        ],
        "gateway_move_redelivered_total": lambda: [
            (ends, sums.redelivered) for ends, sums in moves.sums()
        ],
        "gateway_move_left_messages": lambda: _left(moves),
    }


def _by_state(moves: Moves) -> list[Sample]:
    states = [move.state for move in moves.standing()]
    return [((state,), states.count(state)) for state in ("running", "waiting", "stopping")]


def _left(moves: Moves) -> list[Sample]:
    sums: dict[str, int] = {}
    for move in moves.standing():
        if move.left >= 0:
            source = move.wanted.source.upstream
            sums[source] = sums.get(source, 0) + move.left
    return [((upstream,), left) for upstream, left in sums.items()]
