"""Cases for the rows of outcomes, addresses and errors."""

import re

from translate.cases import (
    TO_0_10,
    TO_1_0,
    row,
    s,
)
from translate.messages import (
    context,
)

from gateway.amqp_1_0._spec import Accepted, Error, Modified, Rejected, Released
from gateway.message import ACCEPTED, RELEASED, Condition, OutcomeKind
from gateway.translate import addresses, conditions, mapping_rows, outcomes
from gateway.translate.context import Counts

# Outcomes, addresses, errors.


@row("outcomes.accepted", TO_1_0, TO_0_10)
def accepted() -> None:
    assert isinstance(outcomes.to_state(ACCEPTED), Accepted)
    assert outcomes.of_state(Accepted()) is ACCEPTED


@row("outcomes.rejected", TO_1_0, TO_0_10)
def rejected() -> None:
    state = outcomes.to_state(outcomes.of_reject(1, "no route"))
    assert state == Rejected(error=Error(condition="amqp:not-found", description="no route"))
    assert outcomes.to_state(outcomes.of_reject(0, "")) == Rejected()
    for text, whole in (("", "reject-code 5"), ("no", "reject-code 5: no")):
        error = Error(condition="amqp:precondition-failed", description=whole)
        assert outcomes.to_state(outcomes.of_reject(5, text)) == Rejected(error=error)
    outcome = outcomes.of_state(state)
    assert outcome is not None
    counts = Counts()
    assert outcomes.reject_of(outcome, counts) == (1, "no route")
    long = outcomes.of_reject(0, "\u00e9" * 200)
    assert outcomes.reject_of(long, counts) == (0, "\u00e9" * 127)
    assert counts.lost[outcomes.ROW_REJECTED] == 2  # a text, and another word for the reason
    told = outcomes.of_reject(1, "no route")
    assert outcomes.reject_of(told, counts) == (1, "no route")
    assert counts.lost[outcomes.ROW_REJECTED] == 2


@row("outcomes.released", TO_1_0, TO_0_10)
def released() -> None:
    assert isinstance(outcomes.to_state(outcomes.of_release(False)), Released)
    assert outcomes.of_state(Released()) is RELEASED


@row("outcomes.modified", TO_1_0, TO_0_10)
def modified() -> None:
    assert outcomes.to_state(outcomes.of_release(True)) == Modified(delivery_failed=True)
    state = Modified(
        delivery_failed=True, undeliverable_here=True, message_annotations={"a": s("1")}
    )
    outcome = outcomes.of_state(state)
    assert outcome is not None and outcome.kind == OutcomeKind.MODIFIED
    assert outcomes.to_state(outcome) == state


def _addresses(row_id: str, address: str, capability: addresses.Capability) -> None:
    node = addresses.resolve(address, capability, context().nodes)
    assert node is not None and node.row == mapping_rows.ROWS[row_id].number
    back = addresses.reply_to_address(node.exchange, node.key or "") if node.key else None
    if node.key is not None and row_id != "addresses.topic-name":
        assert back == address
    elif node.key is None:
        assert addresses.address_of(node.exchange, node.queue) == address


for _id, _address, _capability in (
    ("addresses.queue", "q", addresses.Capability.ANY),
    ("addresses.exchange", "x", addresses.Capability.ANY),
    ("addresses.exchange-key", "x/a/b", addresses.Capability.ANY),
    ("addresses.topic-name", "news", addresses.Capability.TOPIC),
):
    row(_id, TO_1_0, TO_0_10)(
        lambda i=_id, a=_address, c=_capability: _addresses(i, a, c)  # type: ignore[misc]
    )


def _error(found: mapping_rows.Row) -> None:
    code = re.search(r"\((\d+)\)", found.amqp_0_10)
    assert code is not None
    number = int(code[1])
    symbol = re.search(r"amqp:[a-z:-]+", found.amqp_1_0)
    assert symbol is not None
    if found.amqp_0_10.startswith("message.reject"):
        condition = conditions.from_reject_code(number, "text")
        assert conditions.to_symbol(condition) == symbol[0]
        assert conditions.to_reject_code(condition) == number
        return
    if TO_1_0 in found.directions and found.id not in ("errors.message-size-exceeded",):
        wanted = conditions.from_code(number)
        shown = conditions.to_symbol(wanted)
        assert shown == symbol[0] or found.id == "errors.framing-error"
    back = conditions.from_symbol(symbol[0])
    told = {"errors.illegal-argument": 542, "errors.invalid-path": 404}.get(found.id, number)
    if found.id == "errors.framing-error":
        assert back == Condition.DECODE_ERROR
    else:
        assert conditions.to_code(back) == told


for _row in mapping_rows.ALL:
    if _row.id.startswith("errors."):
        row(_row.id, *_row.directions)(lambda found=_row: _error(found))  # type: ignore[misc]
