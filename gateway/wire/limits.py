"""The limits that keep one peer from harming the gateway, as plain values.

`config` builds one from the configuration's `limits`; each has its key, default and help there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

KEPT_MAX: Final = 128 * 1024 * 1024


@final
@dataclass(init=False, slots=True)
class Limits:
    """What one connection may ask of the gateway. Sizes are octets, times milliseconds.

    Attributes:
        kept_max: of what is kept on its behalf (`accounts`); 0: as much as is usual.
        login_octets_max: of what it sends before it has proved who it is.
        answers_max: of what we answer while it does not read; then it is not read either.
        unread_max: of deliveries that it is given before its transport has taken them.
        session_timeout_s: for which the state of a 0-10 session is kept without a connection.
    """

    max_frame_size: int
    channel_max: int
    sessions_max: int
    links_max: int
    unsettled_max: int
    commands_in_doubt_max: int
    octets_in_doubt_max: int
    message_size_max: int
    depth_max: int
    table_size_max: int
    handshake_timeout_ms: int
    heartbeat_s: int
    heartbeat_min_s: int
    idle_timeout_ms: int
    session_window: int
    link_credit: int
    batch_max: int
    escrow_max: int
    transactions_max: int
    kept_max: int
    login_octets_max: int
    answers_max: int
    unread_max: int
    session_timeout_s: int

    def __init__(
        self,
        *,
        max_frame_size: int = 65535,
        channel_max: int = 1023,
        sessions_max: int = 256,
        links_max: int = 1024,
        unsettled_max: int = 10_000,
        commands_in_doubt_max: int = 65_536,
        octets_in_doubt_max: int = 16 * 1024 * 1024,
        message_size_max: int = 64 * 1024 * 1024,
        depth_max: int = 32,
        table_size_max: int = 1024 * 1024,
        handshake_timeout_ms: int = 10_000,
        heartbeat_s: int = 120,
        heartbeat_min_s: int = 0,
        idle_timeout_ms: int = 120_000,
        session_window: int = 2048,
        link_credit: int = 500,
        batch_max: int = 5_000,
        escrow_max: int = 16 * 1024,
        transactions_max: int = 100,
        kept_max: int = 0,
        login_octets_max: int = 64 * 1024,
        answers_max: int = 256 * 1024,
        unread_max: int = 1024 * 1024,
        session_timeout_s: int = 60,
    ) -> None:
        self.max_frame_size = max_frame_size
        self.channel_max = channel_max
        self.sessions_max = sessions_max
        self.links_max = links_max
        self.unsettled_max = unsettled_max
        self.commands_in_doubt_max = commands_in_doubt_max
        self.octets_in_doubt_max = octets_in_doubt_max
        self.message_size_max = message_size_max
        self.depth_max = depth_max
        self.table_size_max = table_size_max
        self.handshake_timeout_ms = handshake_timeout_ms
        self.heartbeat_s = heartbeat_s
        self.heartbeat_min_s = heartbeat_min_s
        self.idle_timeout_ms = idle_timeout_ms
        self.session_window = session_window
        self.link_credit = link_credit
        self.batch_max = batch_max
        self.escrow_max = escrow_max
        self.transactions_max = transactions_max
        # Two of the largest messages may be under way.
        self.kept_max = kept_max or max(KEPT_MAX, 2 * message_size_max)
        self.login_octets_max = login_octets_max
        self.answers_max = answers_max
        self.unread_max = unread_max
        self.session_timeout_s = session_timeout_s
