"""tshark as a second decoder of what passed: it shares nothing with the gateway's decoder.

A recorded conversation is written as a capture file with TCP segments of our own making, so that no
right to capture is needed, and read back with tshark's AMQP dissector.
"""

import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from interop.recorder import Conversation

_CLIENT_PORT, _SERVER_PORT = 40000, 5672
_RAW_IP = 101  # the capture's link type
_SEGMENT_SIZE = 1400
_COMPLAINTS = ("Malformed", "Exception occurred", "expert.severity: Error")


@dataclass(frozen=True)
class Dissection:
    """What tshark made of it: ``text`` in full, ``summary`` one line a packet."""

    summary: list[str]
    text: str

    def complaints(self) -> list[str]:
        """Lines in which tshark says that something is wrong."""
        return [
            line.strip()
            for line in self.text.splitlines()
            if any(word in line for word in _COMPLAINTS)
        ]


def dissect(conversation: Conversation) -> Dissection:
    """Both directions of a conversation, as tshark reads them."""
    with tempfile.TemporaryDirectory() as work:
        capture = Path(work) / "conversation.pcap"
        capture.write_bytes(_capture(conversation))
        return Dissection(
            summary=_tshark(capture, "-T", "fields", "-e", "tcp.srcport", "-e", "_ws.col.Info")
            .strip()
            .splitlines(),
            text=_tshark(capture, "-O", "amqp"),
        )


def _tshark(capture: Path, *options: str) -> str:
    command = ["tshark", "-n", "-r", str(capture), "-d", f"tcp.port=={_SERVER_PORT},amqp"]
    run = subprocess.run(
        [*command, "-Y", "amqp", *options], capture_output=True, text=True, check=True
    )
    return run.stdout


def _capture(conversation: Conversation) -> bytes:
    packets = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, _RAW_IP)]
    # sequence numbers after a handshake that the capture shows too: tshark wants to see the start
    sent = {True: 0, False: 0}
    handshake = ((True, 0x02), (False, 0x12), (True, 0x10))
    for number, (from_client, flags) in enumerate(handshake):
        packets.append(_packet(number, from_client, sent, flags, b""))
        sent[from_client] = 1
    for from_client, octets in conversation.pieces:
        for start in range(0, len(octets), _SEGMENT_SIZE):
            segment = octets[start : start + _SEGMENT_SIZE]
            packets.append(_packet(len(packets), from_client, sent, 0x18, segment))
            sent[from_client] += len(segment)
    return b"".join(packets)


def _packet(
    number: int, from_client: bool, sent: dict[bool, int], flags: int, octets: bytes
) -> bytes:
    ports = (_CLIENT_PORT, _SERVER_PORT) if from_client else (_SERVER_PORT, _CLIENT_PORT)
    addresses = b"\x0a\0\0\1\x0a\0\0\2" if from_client else b"\x0a\0\0\2\x0a\0\0\1"
    acknowledged = sent[not from_client] if flags != 0x02 else 0
    tcp = struct.pack(
        ">HHIIBBHHH", *ports, sent[from_client], acknowledged, 5 << 4, flags, 65535, 0, 0
    )
    size = 20 + len(tcp) + len(octets)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, size, number & 0xFFFF, 0, 64, 6, 0) + addresses
    return struct.pack("<IIII", number, 0, size, size) + ip + tcp + octets
