"""How a delivery ended: 0-10 accept, release, reject and 1.0 delivery states <-> `Outcome`."""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import (
    Accepted,
    Disposition,
    Error,
    Modified,
    Rejected,
    Released,
    TransactionalState,
)
from gateway.amqp_1_0._spec import Outcome as State
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.transfers.dispositions import range_of
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Loss,
    Outcome,
    OutcomeKind,
)
from gateway.translate.conditions import (
    REJECT_IMMEDIATE,
    from_reject_code,
    from_symbol,
    to_reject_code,
    to_symbol,
)
from gateway.translate.context import Counts
from gateway.translate.mapping_rows import BY_NUMBER, number
from gateway.translate.towards_0_10.delivery import cut
from gateway.translate.towards_1_0.hop import merge_annotations
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import CONVERSION, OCTETS_COPIED, VERB, WORK

ROW_ACCEPTED: Final = number("outcomes.accepted")
ROW_REJECTED: Final = number("outcomes.rejected")
ROW_RELEASED: Final = number("outcomes.released")
ROW_MODIFIED: Final = number("outcomes.modified")
# Octets of annotations that a copy may gather beside its message.
MERGED_MAX: Final = 16 * 1024


def of_release(set_redelivered: bool) -> Outcome:
    """message.release: with the flag, a failed delivery is counted."""
    return MODIFIED_FAILED if set_redelivered else RELEASED


def of_reject(code: int, text: str) -> Outcome:
    """message.reject; a code that 0-10 has not is unspecified, with its number in the text."""
    if code > REJECT_IMMEDIATE:
        text = f"reject-code {code}: {text}" if text else f"reject-code {code}"
    condition = from_reject_code(code, text)
    return Outcome(OutcomeKind.REJECTED, condition=condition, description=text)


def reject_of(outcome: Outcome, counts: Counts) -> tuple[int, str]:
    """Code and text of the message.reject that tells of a rejected outcome.

    A reason or a text that it cannot tell in full is a counted loss.
    """
    code, text = to_reject_code(outcome.condition), cut(outcome.description)
    if text != outcome.description or from_reject_code(code, text) != outcome.condition:
        counts.lost[ROW_REJECTED] += 1
    return code, text


def of_state(state: State) -> Outcome | None:
    """The outcome of a 1.0 delivery state; `None` for a state that is no outcome."""
    if isinstance(state, Accepted):
        return ACCEPTED
    if isinstance(state, Released):
        return RELEASED
    if isinstance(state, Rejected):
        return _of_rejected(state)
    return _of_modified(state) if isinstance(state, Modified) else None


def _of_rejected(state: Rejected) -> Outcome:
    error = state.error
    if error is None:
        return Outcome(OutcomeKind.REJECTED)
    condition = from_symbol(error.condition)
    return Outcome(OutcomeKind.REJECTED, condition=condition, description=error.description or "")


def _of_modified(state: Modified) -> Outcome:
    annotations = b""
    if state.message_annotations:
        WORK.units += CONVERSION * len(state.message_annotations)
        writer = Writer()
        pairs: types.Map = [
            (Tagged(types.SYMBOL, key), value) for key, value in state.message_annotations.items()
        ]
        types.encode_map(writer, pairs)
        annotations = writer.getvalue()
    return Outcome(
        OutcomeKind.MODIFIED,
        delivery_failed=state.delivery_failed is True,
        undeliverable_here=state.undeliverable_here is True,
        annotations=annotations,
    )


@final
class Merging:
    """The annotations that one modified outcome gives the copies of many messages (1.0 3.4.5).

    They are put together once for all that had the same ones before. Where there would be too many
    octets, or it would be too much work, those before stay and the new ones are lost.
    """

    __slots__ = ("_before", "_end", "_made", "_outcome")

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._end = WORK.units + VERB
        self._before = b""
        self._made: Outcome | None = None

    def merged(self, before: bytes) -> Outcome:
        """The outcome with all that a copy has then; without annotations if it keeps its own."""
        made = self._made
        if made is None or before != self._before or WORK.units > self._end:
            made = self._made = self._outcome_with(self._annotations(before))
            self._before = before
        WORK.units += len(made.annotations) // OCTETS_COPIED
        return made

    def _annotations(self, before: bytes) -> bytes:
        added = self._outcome.annotations
        if len(added) > MERGED_MAX or WORK.units > self._end:
            return b""
        own = merge_annotations([], before) if before else []
        together = merge_annotations(own, added)
        WORK.units += CONVERSION * (len(own) + len(together))
        writer = Writer()
        types.encode_map(writer, together)
        return writer.getvalue() if writer.size() <= MERGED_MAX else b""

    def _outcome_with(self, annotations: bytes) -> Outcome:
        outcome = self._outcome
        return Outcome(
            OutcomeKind.MODIFIED,
            delivery_failed=outcome.delivery_failed,
            undeliverable_here=outcome.undeliverable_here,
            annotations=annotations,
        )


def lose_annotations(counts: Counts) -> list[Loss]:
    """Count that a subscriber's annotations were not merged."""
    counts.lost[ROW_MODIFIED] += 1
    return [Loss(BY_NUMBER[ROW_MODIFIED].id, "drop")]


def lose_words(dispositions: list[Disposition], counts: Counts) -> None:
    """Count outcomes of which the peer was not told all that they say."""
    for told in dispositions:
        state = told.state
        if isinstance(state, TransactionalState):
            state = state.outcome
        row = ROW_MODIFIED if isinstance(state, Modified) else ROW_REJECTED
        counts.lost[row] += range_of(told)


def to_state(outcome: Outcome) -> State:
    """The 1.0 delivery state of an outcome."""
    if outcome.kind == OutcomeKind.ACCEPTED:
        return Accepted()
    if outcome.kind == OutcomeKind.RELEASED:
        return Released()
    if outcome.kind == OutcomeKind.REJECTED:
        return _to_rejected(outcome)
    return Modified(
        delivery_failed=outcome.delivery_failed or None,
        undeliverable_here=outcome.undeliverable_here or None,
        message_annotations=_fields(outcome.annotations),
    )


def _to_rejected(outcome: Outcome) -> Rejected:
    if outcome.condition == Condition.NONE and not outcome.description:
        return Rejected()
    condition = outcome.condition
    if condition == Condition.NONE:
        condition = Condition.PRECONDITION_FAILED
    return Rejected(
        error=Error(condition=to_symbol(condition), description=outcome.description or None)
    )


def _fields(annotations: bytes) -> Fields | None:
    if not annotations:
        return None
    reader = Reader(annotations)
    found: Fields = {}
    for key, value in types.decode_map(reader, reader.u8()):
        found[str(key.value)] = value
    return found
