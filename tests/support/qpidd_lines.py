"""Conversations that a real qpidd has answered, and lines of them as commands of 0-10.

A line is who says it, and what: a command with its fields, as `QueueDeclare(queue="q")`; or
`publish("body", key="q")`, `subscribe("q")` or `browse("q")` with credit without end, `accept(0)`,
`release(0)`, `reject(0)` or `acquire(0)` what came as that command, `hear` what has come since,
`wait 1500` milliseconds, `end` the session. Branches are named: `DtxStart(xid=xid("x"))`. Who has
ended, or was ended, has a new session with the next line. A line that is not completed is answered
by "waits"; when it is, that is told by its body or command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from support.field_names import field_names

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import _spec_constants as constants
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.amqp_0_10.structs import Header, open_struct, write_header
from gateway.amqp_0_10.types import Command, FieldTable, Struct32
from gateway.wire.tagged import Tagged

FOLDER = Path(__file__).parents[1] / "vectors" / "qpidd"
ENDLESS = 0xFFFFFFFF
SHOWN_OCTETS = 16
TYPES = {name: code for name, code in vars(constants).items() if type(code) is int}
NAMES = {code: name for name, code in TYPES.items()}
Value = str | int | Tagged


class Said(NamedTuple):
    """Commands that are sent one behind the other, the last with that header and body."""

    commands: tuple[Command, ...] = ()
    header: bytes | None = None
    body: bytes = b""

    def name(self) -> str:
        """What it is called where its completion is told."""
        return body_in_words(self.body) if self.body else type(self.commands[-1]).__name__


def corpus() -> dict[str, list[dict[str, Any]]]:  # Any: what YAML holds
    """The conversations of each file: a name, lines, and departures by line with their reason."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}


def table(*, args: dict[str, Value] | None = None, **values: Value) -> FieldTable:
    """A field table of texts, numbers and `typed` values; `args`: names that are no words."""
    return [(name, _tagged(value)) for name, value in ((args or {}) | values).items()]


def _tagged(value: Value) -> Tagged:
    if isinstance(value, Tagged):
        return value
    return Tagged(STR16 if isinstance(value, str) else INT32, value)


def publish(
    body: str, key: str = "", to: str = "", headers: FieldTable | None = None, **fields: Any
) -> Said:
    """message.transfer; `fields` are delivery properties."""
    delivery = spec.DeliveryProperties(routing_key=key, **fields)
    message = spec.MessageProperties(application_headers=headers) if headers else None
    transfer = spec.MessageTransfer(destination=to)
    return Said((transfer,), write_header(delivery, message), body.encode())


def subscribe(queue: str, destination: str = "d", credit: int = ENDLESS, **fields: Any) -> Said:
    """message.subscribe, and credit."""
    flows = [
        spec.MessageFlow(destination=destination, unit=unit, value=value)
        for unit, value in ((0, credit), (1, ENDLESS))
    ]
    return Said((spec.MessageSubscribe(queue=queue, destination=destination, **fields), *flows))


def browse(queue: str, destination: str = "d", credit: int = ENDLESS, **fields: Any) -> Said:
    """message.subscribe that acquires nothing, and credit."""
    return subscribe(queue, destination, credit, acquire_mode=1, accept_mode=1, **fields)


def _ranges(ids: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(each, each) for each in ids]


def accept(*ids: int) -> spec.MessageAccept:
    """message.accept of the deliveries that came as these commands."""
    return spec.MessageAccept(transfers=_ranges(ids))


def release(*ids: int, redelivered: bool = False) -> spec.MessageRelease:
    """message.release of the deliveries that came as these commands."""
    return spec.MessageRelease(transfers=_ranges(ids), set_redelivered=redelivered)


def reject(*ids: int) -> spec.MessageReject:
    """message.reject of the deliveries that came as these commands."""
    return spec.MessageReject(transfers=_ranges(ids))


def acquire(*ids: int) -> spec.MessageAcquire:
    """message.acquire of the deliveries that came as these commands."""
    return spec.MessageAcquire(transfers=_ranges(ids))


def xid(name: str) -> spec.Xid:
    """A branch by its name: what is behind a point is its branch-id."""
    transaction, _, branch = name.partition(".")
    return spec.Xid(format=1, global_id=transaction.encode(), branch_id=branch.encode())


_WORDS = {name: getattr(spec, name) for name in spec.__dict__ if name[0].isupper()}
_WORDS |= TYPES | {"table": table, "typed": Tagged, "publish": publish}
_WORDS |= {"subscribe": subscribe, "browse": browse}
_WORDS |= {"xid": xid, "accept": accept, "release": release, "reject": reject, "acquire": acquire}


def read(line: str) -> tuple[str, Said | str]:
    """Who says it, and what; of what is no command the word."""
    who, _, what = line.partition(": ")
    if what in ("hear", "end") or what.startswith("wait "):
        return who, what
    said = eval(what, {"__builtins__": {}}, _WORDS)  # of our own files
    return who, said if isinstance(said, Said) else Said((said,))


def pause_ms(what: str) -> int:
    """How long the line waits."""
    return int(what.removeprefix("wait "))


def _sorted(value: object) -> object:
    """Arguments by their names: a qpidd answers them so, the gateway as they came."""
    return sorted(value, key=lambda argument: argument[0]) if isinstance(value, list) else value


def result_in_words(result: object) -> str:
    """A struct, by the fields of it that say something."""
    if result is None:
        return "nothing"
    if isinstance(result, spec.XaResult):
        return constants.XaStatus(result.status or 0).name.lower().replace("_", "-")
    if isinstance(result, spec.RecoverResult):
        return f"in doubt: {', '.join(in_doubt(result)) or 'none'}"
    fields = [(name, _sorted(getattr(result, name))) for name in field_names(result)]
    said = [f"{name}={value!r}" for name, value in fields if value]
    return f"{type(result).__name__}({', '.join(said)})"


def in_doubt(result: spec.RecoverResult) -> list[str]:
    """The names of the branches, in alphabetical order: brokers have none."""
    found = []
    for each in result.in_doubt.values if result.in_doubt else []:
        assert isinstance(each, Struct32)
        branch = open_struct(each)
        assert isinstance(branch, spec.Xid)
        names = (
            each.decode("ascii", "replace") for each in (branch.global_id, branch.branch_id) if each
        )
        found.append(".".join(names))
    return sorted(found)


def delivery_in_words(transfer: spec.MessageTransfer, header: Header, body: bytes) -> str:
    """A message that came."""
    delivery, _, message = header
    again = " again" if delivery is not None and delivery.redelivered else ""
    headers = message.application_headers if message is not None else None
    table = f" {headers_in_words(headers)}" if headers else ""
    return f"{transfer.destination} gets {body_in_words(body)}{table}{again}"


def headers_in_words(headers: FieldTable) -> str:
    """As they stand in a line."""
    said = [f"{name}={_value_in_words(value)}" for name, value in headers]
    return f"({', '.join(said)})"


def _value_in_words(value: Tagged) -> str:
    if value.code in (STR16, INT32):
        return repr(value.value)
    return f"typed({NAMES[value.code]}, {value.value!r})"


def body_in_words(body: bytes) -> str:
    """The start of a long one and its length."""
    text = body.decode()
    if len(text) <= SHOWN_OCTETS:
        return text
    return f"{text[:4]}... of {len(text)}"
