"""Tells in the log how far the audit log is sealed, for whoever keeps the log's lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.logger import Logger

from gateway.audit.seals import Head

EVERY_MS: Final = 60_000


@final
class HeadLines:
    """One line a minute at most, and one of each segment that is closed, and at the end."""

    log = Logger()

    def __init__(
        self,
        head: Callable[[], Head | None],
        now_ms: Callable[[], int],
        problem: Callable[[], str] = lambda: "",
    ) -> None:
        """Make it; `problem`: why the file `audit-head` could not be written last, or ""."""
        self._problem = problem
        self._problem_told = ""
        self._head = head
        self._now_ms = now_ms
        self._told: Head | None = None
        self._told_ms = 0

    def look(self, *, last: bool = False) -> None:
        """Each second or so; `last`: the gateway stops."""
        self._tell_of_file()
        head, told = self._head(), self._told
        if head is None or head == told:
            return
        now_ms = self._now_ms()
        same = told is not None and told.segment == head.segment
        if same and not last and now_ms - self._told_ms < EVERY_MS:
            return
        self._told, self._told_ms = head, now_ms
        self.log.info("audit head {head}", head=head.line())

    def _tell_of_file(self) -> None:
        problem = self._problem()
        if problem and not self._problem_told:
            self.log.error(
                "the last seal of the audit log is not in its file, which has an older one, if any:"
                " {problem}",
                problem=problem,
            )
        elif self._problem_told and not problem:
            self.log.info("the last seal of the audit log is in its file again")
        self._problem_told = problem
