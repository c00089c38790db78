"""Credit of one subscription, its modes, stop and flush, as conversations."""

from support.rules import rule
from support.subscribed_0_10 import accepted, flush, gateway_with, stop, transfers
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import write_header
from gateway.wire.work import FLUSHED

CREDIT, WINDOW = spec.FlowMode.CREDIT, spec.FlowMode.WINDOW
INFINITE = 0xFFFFFFFF


@rule("0-10", "message.subscribe", "initial-credit")
def test_nothing_comes_without_credit_in_both_units() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=None)
    assert client.gets() == []
    client.flows(5)
    assert client.gets() == []
    client.flows(INFINITE, unit=spec.CreditUnit.BYTE)
    assert client.gets() == [b"1", b"2"]


@rule("0-10", "message.subscribe", "default-flow-mode")
@rule("0-10", "message.set-flow-mode", "default-flow-mode")
def test_in_window_mode_completion_gives_credit_back_and_acceptance_does_not() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(6)))
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"0", b"1"]
    client.says(accepted((0, 1)))
    assert client.gets() == []
    client.completes(0, 0)
    assert client.gets() == [b"2"]
    client.completes(1, 2)
    assert client.gets() == [b"3", b"4"]
    client.flows(1)
    assert client.gets() == [b"5"]
    gateway.world.check()


def test_in_credit_mode_only_flow_gives_credit() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(4)))
    client = gateway.session()
    client.subscribes(credit=2, mode=CREDIT)
    assert client.gets() == [b"0", b"1"]
    client.completes(0, 1)
    client.says(accepted((0, 1)))
    assert client.gets() == []
    client.flows(1)
    assert client.gets() == [b"2"]


def test_absent_and_all_ones_are_infinite_until_stop() -> None:
    for absent in (False, True):
        gateway = gateway_with(*(b"%d" % n for n in range(5)))
        client = gateway.session()
        client.subscribes(absent=absent)
        assert len(client.gets()) == 5
        client.does(stop())
        client.completes(0, 4)
        gateway.world.send(b"more")
        assert client.gets() == []


def test_stop_ends_the_flow_until_there_is_new_credit() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    assert client.does(stop()) == ["completed 3-3"]
    client.completes(0, 0)
    assert client.gets() == []
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"2"]


def test_after_a_stop_what_is_not_completed_counts_against_new_credit() -> None:
    gateway = gateway_with(b"1", b"2", b"3", b"4")
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"1", b"2"]
    client.says(stop())
    client.flows(3)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"3"]
    client.completes(0, 1)
    assert client.gets() == [b"4"]


def test_flush_is_completed_when_all_there_is_has_been_sent_and_zeroes_the_credit() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=None, mode=CREDIT)
    client.hears()
    client.flows(10)
    client.flows(INFINITE, unit=1)
    client.says(flush())
    heard = client.hears()
    assert [one[2] for one in heard if isinstance(one, tuple)] == [b"1", b"2"]
    assert heard[-1] == "completed 2-4"
    gateway.world.send(b"3")
    assert client.gets() == []


def test_flush_without_credit_or_messages_is_completed_at_once() -> None:
    client = gateway_with().session()
    client.subscribes(credit=None)
    client.hears()
    assert client.does(flush()) == ["completed 1-1"]
    client.flows(5)
    client.hears()
    assert client.does(flush()) == ["completed 3-3"]


def test_what_is_told_of_many_flushes_is_work() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.face.write_blocked(True)
    client.subscribes(credit=5)
    client.hears()
    client.says(*[flush() for _ in range(50)])
    client.hears()
    assert units_of(lambda: client.face.write_blocked(False)) < 50 * FLUSHED
    assert units_of(client.hears) >= 50 * FLUSHED


def test_flush_waits_for_a_full_transport() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.face.write_blocked(True)
    client.subscribes(credit=5)
    client.hears()
    assert client.does(flush()) == []
    client.face.write_blocked(False)
    heard = client.hears()
    assert heard[0][2] == b"1"
    assert heard[1] == "completed 3-3"


def octets_of(body: bytes) -> int:
    """Header and body octets of the transfer of a message in q."""
    gateway = gateway_with(body)
    client = gateway.session()
    client.subscribes()
    [delivered] = transfers(client)
    return len(write_header(delivered[1][0], delivered[1][2])) + len(body)


@rule("0-10", "message.set-flow-mode", "byte-accounting")
def test_byte_credit_counts_header_and_body_and_a_larger_message_blocks() -> None:
    size = octets_of(b"x" * 50)
    gateway = gateway_with(b"a" * 50, b"b" * 50, b"c" * 60, b"d")
    client = gateway.session()
    client.subscribes(credit=None)
    client.flows(INFINITE)
    client.flows(2 * size + size - 1, unit=1)
    assert client.gets() == [b"a" * 50, b"b" * 50]
    client.flows(10, unit=1)
    assert client.gets() == []
    client.flows(1, unit=1)
    assert client.gets() == [b"c" * 60]
    client.completes(0, 0)
    assert client.gets() == [b"d"]


def test_a_flush_is_over_when_the_next_message_does_not_fit() -> None:
    gateway = gateway_with(b"a" * 500)
    client = gateway.session()
    client.subscribes(credit=None)
    client.flows(INFINITE)
    client.flows(100, unit=1)
    client.hears()
    assert client.does(flush()) == ["completed 3-3"]
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"a" * 500]


def test_the_mode_can_change_and_old_completions_then_give_nothing() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(6)))
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"0", b"1"]
    client.says(stop(), spec.MessageSetFlowMode(destination="d", flow_mode=CREDIT))
    client.says(spec.MessageSetFlowMode(destination="d", flow_mode=CREDIT))
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"2"]
    client.says(stop(), spec.MessageSetFlowMode(destination="d", flow_mode=WINDOW))
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"3"]
    client.completes(0, 2)
    assert client.gets() == []
    client.completes(3, 3)
    assert client.gets() == [b"4"]
