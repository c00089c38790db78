"""Who may ask what of the admin port: the admin token, and the one for metrics.

Judged by a request's head, before any octet of its body is read. Wrong tokens are told in the log,
counted, and made to wait: `listening.throttle` says how long, by address. A right one waits with
them if it is short enough that trying might find it.
"""

from __future__ import annotations

import hmac
import pathlib
from collections.abc import Callable
from typing import Final, NamedTuple, final

from twisted.logger import Logger

from gateway.config import Settings
from gateway.files.whole import SECRET_MAX, read_regular
from gateway.net.counts import AdminCounts
from gateway.net.kept_files import Read
from gateway.net.listening.pace import Pace
from gateway.net.listening.throttle import Throttle

BEARER: Final = b"bearer "
NOT_TO_BE_GUESSED: Final = 32  # octets of a token: however often others try, the right one is heard
WHO: Final = "token"  # as the user whose failures are counted: there are no others


class Refused(NamedTuple):
    """Why a request is not answered.

    Attributes:
        code: 401 (it shows no token, or a wrong one), 404 (there is no such access), 429; 503
            (nobody knows which one is right: a file cannot be read).
        wait_s: 429: when to try again.
        allow: 405: by which methods it may be asked for.
    """

    code: int
    problem: str
    wait_s: int = 0
    allow: str = ""


@final
class Tokens:
    """The tokens of the settings in force.

    Args:
        read: what is in their files now, as far as is known without waiting.
    """

    log = Logger()

    def __init__(
        self,
        settings: Callable[[], Settings],
        now_ms: Callable[[], int],
        counts: AdminCounts,
        read: Read = read_regular,
    ) -> None:
        self._read = read
        self._settings = settings
        self.now_ms = now_ms
        self._throttle = Throttle()
        self.counts = counts
        self._wrong = Pace(now_ms)
        self._unread: dict[str, Pace] = {}  # by the key of a file that cannot be read

    def judge(self, path: str, shown: bytes, address: str) -> Refused | None:
        """`None`: the request may go on; `shown` is its Authorization."""
        settings = self._settings()
        area = path.split("/")[1] if path.startswith("/") else ""
        admin = ("admin_token_file", settings.admin_token_file)
        if area == "ctl":
            if settings.admin_token_file is None:
                return Refused(404, "there is no admin_token_file")
            return self._judge("its admin token", [admin], shown, address)
        metrics = settings.metrics_token_file
        if area in ("metrics", "audit") and metrics is not None:
            files = [("metrics_token_file", metrics), admin]
            return self._judge("its token for metrics", files, shown, address)
        return None

    def _judge(
        self,
        what: str,
        files: list[tuple[str, pathlib.Path | None]],
        shown: bytes,
        address: str,
    ) -> Refused | None:
        if not shown:
            self.counts.refused["no_token"] += 1
            return Refused(401, f"show {what.removeprefix('its ').replace('admin', 'the admin')}")
        now_ms = self.now_ms()
        wait_ms = self._throttle.wait_ms(address, WHO, now_ms)
        scheme, token = shown[: len(BEARER)].lower(), shown[len(BEARER) :].strip()
        own = [self._own(key, file) for key, file in files if file is not None]
        # All of them are compared, whichever fits.
        fits = [hmac.compare_digest(token, each) for each in own if each]
        right = scheme == BEARER and any(fits)
        if wait_ms and not (right and len(token) >= NOT_TO_BE_GUESSED):
            self.counts.refused["throttled"] += 1
            return Refused(429, "too many wrong tokens: wait", -(-wait_ms // 1000))
        if right:
            self._throttle.succeeded(address, WHO, now_ms)
            return None
        if None in own:
            self.counts.refused["unread_token"] += 1
            if any(own):  # it may have been tried against the other one
                self._throttle.failed(address, WHO, now_ms)
            return Refused(503, f"{what} cannot be read now: the gateway's log says why")
        self.counts.refused["wrong_token"] += 1
        self._throttle.failed(address, WHO, now_ms)
        self._tell(address)
        return Refused(401, f"this is not {what}")

    def _own(self, key: str, file: pathlib.Path) -> bytes | None:
        """What is in the file; `None`: nobody knows."""
        try:
            return self._read(file, SECRET_MAX).strip()
        except OSError as error:
            unread = self._unread.setdefault(key, Pace(self.now_ms))
            if unread.may_tell():
                self.log.error("{key}: {error}{more}", key=key, error=error, more=unread.more())
            return None

    def _tell(self, address: str) -> None:
        if self._wrong.may_tell():
            self.log.warn(
                "a wrong token at the admin port, from {address}{more}",
                address=address,
                more=self._wrong.more(),
            )
