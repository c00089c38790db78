"""What comes before the frames: protocol headers and the SASL layer, for both roles (2.2, 5.3).

Tells its connection what the next octets are; writes headers and SASL frames itself.
"""

from __future__ import annotations

from enum import IntEnum
from typing import final

from gateway.amqp_1_0 import frames
from gateway.amqp_1_0._spec import decode_sasl_frame
from gateway.amqp_1_0.errors import FrameDecodeError, ProtocolHeaderError
from gateway.amqp_1_0.events import (
    Authenticated,
    AuthenticationRequested,
    DerivationRequested,
    Event,
)
from gateway.amqp_1_0.sasl_layer import SaslClient, SaslServer, SaslState
from gateway.wire.buffers import Reader, Writer
from gateway.wire.gssapi_server import GSSAPI
from gateway.wire.sasl import ClientMechanism, MechanismMaker, StepKind


class Phase(IntEnum):
    """What the next octets are."""

    HEADER = 0  # the first protocol header
    SASL = 1
    VERDICT = (
        2  # nothing is read until the driver has the verdict, or has run what is to be derived
    )
    INNER_HEADER = 3  # the AMQP header behind the SASL layer
    FRAMES = 4


def _wants(header: bytes) -> str:
    """What a server means by a header that we did not ask for (2.2, 5.2, 5.3)."""
    if header == frames.PROTOCOL_AMQP:
        return "the server wants no SASL layer"
    if header == frames.PROTOCOL_SASL:
        return "the server wants a SASL layer"
    if header[:5] == b"AMQP\x02":
        return "the server wants TLS"
    return f"the server wants protocol header {header.hex()}"


@final
class Layers:
    """The layers of one connection.

    Attributes:
        phase: what the next octets are.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        server: bool,
        mechanisms: list[str],
        maker: MechanismMaker | None,
        sasl_required: bool,
        able: list[ClientMechanism],
        hostname: str | None,
    ) -> None:
        self.server = server
        self.writer = writer
        self.phase = Phase.HEADER
        self._sasl_server = SaslServer(writer, mechanisms, maker)
        self._sasl_client = SaslClient(writer, able, hostname)
        self._sasl = sasl_required if server else bool(able)

    @property
    def hostname(self) -> str | None:
        """Server: the hostname of the client's sasl-init."""
        return self._sasl_server.hostname

    @property
    def long_tokens(self) -> bool:
        """Server: those of a mechanism that it offers do not fit into the frames of 5.3.1."""
        return GSSAPI in self._sasl_server.mechanisms

    @property
    def mechanism(self) -> str:
        """The SASL mechanism that the client chose, whatever came of it; "" without, or before."""
        return self._sasl_client.chosen or self._sasl_server.asked

    @property
    def claimed(self) -> str:
        """Server: who a client said that it is whose login failed before anybody was asked."""
        return self._sasl_server.claimed

    @property
    def offered(self) -> list[str]:
        """Client: the SASL mechanisms that the server offers."""
        return self._sasl_client.offered

    def start(self) -> bool:
        """Client: speak first; whether that was the AMQP header."""
        self.writer.raw(frames.PROTOCOL_SASL if self._sasl else frames.PROTOCOL_AMQP)
        return not self._sasl

    def receive_header(self, header: bytes) -> None:
        """Take a protocol header; frames follow where the phase is `FRAMES` then.

        Raises:
            ProtocolHeaderError: one that will not do; a server has told which would.
        """
        if self.server:
            self._receive_client_header(header)
        else:
            self._receive_server_header(header)

    def _receive_client_header(self, header: bytes) -> None:
        inner = self.phase == Phase.INNER_HEADER
        if header == frames.PROTOCOL_SASL and not inner:
            self.phase = Phase.SASL
            self.writer.raw(frames.PROTOCOL_SASL)
            self._sasl_server.start()
        elif header == frames.PROTOCOL_AMQP and (inner or not self._sasl):
            self.phase = Phase.FRAMES
            self.writer.raw(frames.PROTOCOL_AMQP)
        else:
            plain = inner or not self._sasl
            self.writer.raw(frames.PROTOCOL_AMQP if plain else frames.PROTOCOL_SASL)
            raise ProtocolHeaderError(f"protocol header {header.hex()}", header)

    def _receive_server_header(self, header: bytes) -> None:
        wanted = frames.PROTOCOL_AMQP
        after = Phase.FRAMES
        if self.phase == Phase.HEADER and self._sasl:
            wanted = frames.PROTOCOL_SASL
            after = Phase.SASL
        if header != wanted:
            raise ProtocolHeaderError(_wants(header), header)
        self.phase = after

    def receive_sasl(self, reader: Reader) -> Event | None:
        """Take the body of a SASL frame; a client's `Authenticated` begins the inner layer.

        Raises:
            SaslError: the exchange has failed.
        """
        frame = decode_sasl_frame(reader)
        if reader.remaining():
            raise FrameDecodeError("octets behind a SASL frame")
        if self.server:
            credentials = self._sasl_server.receive(frame)
            if credentials is None:
                return None
            self.phase = Phase.VERDICT
            return AuthenticationRequested(credentials)
        derivation = self._sasl_client.receive(frame)
        if derivation is not None:
            self.phase = Phase.VERDICT
            return DerivationRequested(derivation)
        if self._sasl_client.machine.state != SaslState.GRANTED:
            return None
        self.phase = Phase.INNER_HEADER
        self.writer.raw(frames.PROTOCOL_AMQP)
        return Authenticated()

    def resolve(self, granted: bool) -> StepKind:
        """Server: the verdict on the client's credentials; what comes of it for the exchange."""
        if self._sasl_server.resolve(granted):
            self.phase = Phase.INNER_HEADER
            return StepKind.GRANTED
        if self._sasl_server.machine.state == SaslState.DENIED:
            return StepKind.DENIED
        self.phase = Phase.SASL
        return StepKind.CHALLENGE

    def derived(self) -> None:
        """Client: what was to be derived has been."""
        self._sasl_client.derived()
        self.phase = Phase.SASL
