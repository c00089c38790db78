"""What comes with a command or a frame is work before anybody looks at it: it is decoded, and kept.

Two hundred connections of one user asked `exchange.bound` with tables of 58 KB, of which nobody was
charged more than for the octets: a turn took 800 ms, in which nobody else was served.
"""

from support.face_1_0 import Hub
from support.frames_1_0 import octets_of
from support.talk_0_10 import Gateway
from support.work import grows_linearly, units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0 import types
from gateway.wire.tagged import Tagged
from gateway.wire.work import ARGUMENT, COMMAND, ELEMENT


def asked_with(entries: int) -> int:
    client = Gateway().session("alice")
    table = [(f"k{number:04}", Tagged(STR16, "v" * 30)) for number in range(entries)]
    return units_of(lambda: client.does(spec.ExchangeBound(exchange="amq.match", arguments=table)))


def begun_with(entries: int) -> int:
    client = Hub().client().step()
    properties = {f"k{number:04}": Tagged(types.STRING, "v" * 30) for number in range(entries)}
    begin = spec_1_0.Begin(
        next_outgoing_id=0, incoming_window=9, outgoing_window=9, properties=properties
    )
    octets, face = octets_of(begin, channel=7), client.face
    return units_of(lambda: face.receive_data(octets, client.hub.world.now_ms))


def test_a_table_of_a_0_10_command_is_charged_by_its_entries() -> None:
    assert asked_with(1000) - asked_with(0) >= 1000 * (ELEMENT + ARGUMENT)
    assert grows_linearly(asked_with(500), asked_with(1000), 2)
    assert asked_with(0) < 4 * COMMAND


def test_a_map_of_a_1_0_frame_is_charged_by_its_keys_and_values() -> None:
    assert begun_with(1000) - begun_with(0) >= 2000 * (ELEMENT + ARGUMENT)
    assert grows_linearly(begun_with(500), begun_with(1000), 2)
