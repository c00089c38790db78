"""Writing and reading 1.0 frames in tests, beside the connection."""

from __future__ import annotations

from gateway.amqp_1_0 import _spec, frames
from gateway.wire.buffers import Reader, Writer


def octets_of(*performatives, channel=0, kind=frames.AMQP_FRAME, payload=b""):
    """One frame for each."""
    writer = Writer()
    for performative in performatives:
        start = frames.begin_frame(writer, kind, channel)
        performative.encode(writer)
        writer.raw(payload)
        frames.end_frame(writer, start)
    return writer.getvalue()


def read_frames(octets):
    """(channel, performative) of everything in `octets`, protocol headers left out."""
    return [(channel, performative) for channel, performative, _ in read_payloads(octets)]


def read_payloads(octets):
    """(channel, performative, payload) of everything in `octets`, protocol headers left out."""
    found = []
    pos = 0
    while pos < len(octets):
        if octets[pos : pos + 4] == b"AMQP":
            pos += 8
            continue
        size = int.from_bytes(octets[pos : pos + 4])
        kind = octets[pos + 5]
        channel = int.from_bytes(octets[pos + 6 : pos + 8])
        reader = Reader(octets, pos + 8, pos + size)
        if reader.remaining():
            decode = _spec.decode_sasl_frame if kind else _spec.decode_performative
            found.append((channel, decode(reader), reader.rest()))
        else:
            found.append((channel, None, b""))
        pos += size
    return found


def give_up(link, *, tag=b"t", begun=False, resume=None):
    """Send a delivery that comes to nothing: an aborted one, or one that nobody knows to resume."""
    sending = link.session.sending
    number = sending.next_delivery_id
    first = _spec.Transfer(
        handle=link.handle_out, delivery_id=number, delivery_tag=tag, message_format=0
    )
    first.resume = resume
    if begun:
        first.more = True
        link.session.write(first)
        sending.next_outgoing_id += 1
        first = _spec.Transfer(handle=link.handle_out)
    first.aborted = None if resume else True
    link.session.write(first)
    sending.next_outgoing_id += 1
    sending.next_delivery_id = number + 1
    link.delivery_count += 1
    link.credit -= 1
