"""What a start says of what the store has."""

import pathlib

from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.clients.letter import Letter, Typed

KEPT = Letter(body=Typed("string", "kept"), durable=True)
FAR = 'upstreams={"far": {"hosts": ["amqp://127.0.0.1:1"]}}'


def test_messages_of_a_queue_that_another_configuration_has_sent_away_are_told(
    tmp_path: pathlib.Path,
) -> None:
    first = WholeGateway(tmp_path).start()
    client = first.connect_0_10()
    for queue in ("moved", "stays"):
        first.result(client.declare_queue(queue, durable=True))
        first.result(client.send(queue, KEPT))
    first.stop()
    with capturedLogs() as events:
        again = WholeGateway(tmp_path, FAR, 'nodes=[{"queue": "moved", "upstream": "far"}]').start()
    again.stop()
    told = [text for event in events if "were stored here" in (text := formatEvent(event))]
    assert [text.partition(", and holds")[0] for text in told] == [
        "queue 'moved' of virtual host 'default' lives at upstream far"
    ]
    assert "1 messages" in told[0]
