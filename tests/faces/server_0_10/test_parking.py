"""Which commands of a session wait, and in what order they go on."""

import pytest

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.frames import FrameWriter
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.types import Command
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import Pressure
from gateway.faces.doubt import Doubt
from gateway.faces.server_0_10.parking import Parking
from gateway.message import Condition, Refusal
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

TRANSFER = spec.MessageTransfer()
ACCEPT = spec.MessageAccept()
CANCEL = spec.MessageCancel()
DELETE = spec.QueueDelete()
BIND = spec.ExchangeBind()
SUBSCRIBE = spec.MessageSubscribe()
SESSION = Session(b"s", 0, FrameWriter(), Limits(), Role.SERVER, Account())


class Nobody:
    def on_doubt(self) -> None:
        raise AssertionError("nothing is held")


def event(command: Command, payload: bytes = b"") -> CommandReceived:
    return CommandReceived(SESSION, 0, command, False, payload, 0)


def parking(*commands: Command, waits: bool = False) -> Parking:
    made = Parking(Doubt(1000, Nobody(), Pressure(BridgeLimits()), publishes_max=100), Account())
    if waits:
        made.wait(7, SUBSCRIBE)
    for command in commands:
        made.park(event(command))
    return made


def next_command(parked: Parking, *, slow: bool = False) -> Command | None:
    taken = parked.next(slow=slow)
    return None if taken is None else taken.command


@pytest.mark.parametrize("command", [TRANSFER, ACCEPT, CANCEL, DELETE])
def test_nothing_is_parked_where_nothing_waits(command: Command) -> None:
    assert not parking().holds(command, slow=False)


def test_transfers_of_a_slow_session_are_parked_and_nothing_else() -> None:
    assert parking().holds(TRANSFER, slow=True)
    assert not parking().holds(DELETE, slow=True)


@pytest.mark.parametrize(
    ("command", "held"),
    [(TRANSFER, True), (ACCEPT, False), (SUBSCRIBE, False), (CANCEL, False), (DELETE, True)],
)
def test_behind_a_parked_transfer_waits_what_could_take_its_place_away(
    command: Command, held: bool
) -> None:
    assert parking(TRANSFER).holds(command, slow=True) is held
    assert parking(TRANSFER).holds(command, slow=False) is held


def test_behind_a_parked_command_of_another_kind_only_settling_goes_on() -> None:
    assert parking(TRANSFER, BIND).holds(SUBSCRIBE, slow=True)
    assert not parking(TRANSFER, BIND).holds(ACCEPT, slow=True)


def test_what_takes_something_away_comes_before_the_settling_behind_it() -> None:
    assert parking(TRANSFER, DELETE).holds(ACCEPT, slow=True)


@pytest.mark.parametrize(
    ("command", "held"), [(TRANSFER, True), (ACCEPT, False), (SUBSCRIBE, True), (CANCEL, True)]
)
def test_while_the_session_waits_only_settling_goes_on(command: Command, held: bool) -> None:
    assert parking(waits=True).holds(command, slow=False) is held


def test_a_release_does_not_overtake_the_cancel_before_it() -> None:
    assert parking(CANCEL, waits=True).holds(spec.MessageRelease(), slow=False)


def test_commands_go_on_in_the_order_in_which_they_came() -> None:
    parked = parking(TRANSFER, DELETE, ACCEPT)
    assert next_command(parked, slow=True) is None
    assert next_command(parked) is TRANSFER
    assert next_command(parked, slow=True) is DELETE
    assert next_command(parked, slow=True) is ACCEPT
    assert next_command(parked) is None
    assert not parked.holds(DELETE, slow=False)


def test_nothing_goes_on_before_the_answer() -> None:
    parked = parking(TRANSFER, waits=True)
    assert parked.take_answered() is None
    assert next_command(parked) is None
    refusal = Refusal(Condition.NOT_FOUND, "")
    parked.answer(6, refusal)  # to a question of before
    assert parked.take_answered() is None
    parked.answer(7, refusal)
    parked.answer(7, None)  # too late
    answered = parked.take_answered()
    assert answered is not None
    assert (answered.command_id, answered.command, answered.refusal) == (7, SUBSCRIBE, refusal)
    assert next_command(parked) is TRANSFER
    parked.answer(7, None)
    assert parked.take_answered() is None


def test_parked_octets_are_counted_until_they_go_on_or_are_dropped() -> None:
    doubt = Doubt(1000, Nobody(), Pressure(BridgeLimits()), publishes_max=100)
    parked = Parking(doubt, Account())
    parked.park(event(TRANSFER, b"123"))
    parked.park(event(TRANSFER, b"45"))
    assert doubt.parked == 5
    parked.next(slow=False)
    assert doubt.parked == 2
    parked.clear()
    assert doubt.parked == 0
    assert len(parked) == 0
