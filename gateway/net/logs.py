"""Log lines on standard error: readable ones, or one JSON object each; `log_queue` writes them.

Operators filter by the names of loggers. So a name stays when the module moves: it is then given to
the `Logger`.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Protocol, TextIO, final

from twisted.logger import (
    FilteringLogObserver,
    ILogObserver,
    LogEvent,
    Logger,
    LogLevel,
    LogLevelFilterPredicate,
    formatEvent,
    globalLogBeginner,
)
from zope.interface import implementer

from gateway.audit.printable import printable, printable_json
from gateway.config.settings import Severity, Subsystem
from gateway.errors import ConfigurationError
from gateway.net.log_queue import LogQueue

LEVELS: Final = {level.name: level for level in LogLevel.iterconstants()}
NAMESPACE: Final = "gateway"
ALL: Final = "all"
# What operators may want more or less of -> the loggers of that, and what is below them.
SUBSYSTEMS: Final[dict[Subsystem, tuple[str, ...]]] = {
    "clients": (
        *("gateway.net.connections", "gateway.net.listen", "gateway.net.listening"),
        *("gateway.net.pump", "gateway.net.keepalive", "gateway.net.withdrawing"),
    ),
    "logins": ("gateway.net.authenticate", "gateway.net.passwords"),
    "upstreams": (
        *("gateway.net.upstream", "gateway.net.detours", "gateway.net.credentials"),
        *("gateway.net.renewal", "gateway.net.held_back"),
    ),
    "admin": ("gateway.net.admin", "gateway.net.control", "gateway.net.reload"),
    "store": ("gateway.net.backup", "gateway.net.turns", "gateway.service.paging"),
    "audit": ("gateway.service.heads", "gateway.service.letting_go"),
    "event_loop": ("gateway.net.stalls", "gateway.net.duties"),
}
# What an event is about -> what that is called in a JSON object; in a line of text it is among the
# words. A connection's number is the one that the audit log has.
FIELDS: Final = {
    "connection": "connection",
    "endpoint": "address",
    "user": "user",
    "protocol": "protocol",
    "host": "virtual_host",
    "upstream": "upstream",
    "count": "count",
}
PROCESS: Final = LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)
STANDARD_ERROR: Final = 2
NO_LEVELS: Final[Mapping[Subsystem, Severity]] = MappingProxyType({})
GAP: Final = "{count} lines of the log are missing here: nobody took them"
_queues: Final[list[LogQueue]] = []  # of this process: one, once logging has begun


@final
class NamedLogger(Logger):
    """The logger of a class that keeps its name where the class moves: operators filter by it.

    Twisted names a logger that is an attribute of a class after the class.
    """

    def __get__(self, instance: object, owner: type | None = None) -> NamedLogger:
        """Its name, and whose logger it is."""
        source = owner if instance is None else instance
        return NamedLogger(self.namespace, source, observer=self.observer)


class Lines(Protocol):
    """What takes the lines."""

    def put(self, line: bytes, *, critical: bool = False) -> None:
        """Have a line written, with its end."""


def begin_logging(
    stream: TextIO | None,
    *,
    level: str,
    form: str,
    levels: Mapping[Subsystem, Severity] = NO_LEVELS,
) -> None:
    """Send all log events of this process to `stream`; `form` is ``text`` or ``json``.

    `None`: whoever started the process has closed standard error, and no file that is opened from
    now on may have its number.
    """
    _occupy_standard_files()
    if stream is not None:
        stream.flush()
    descriptor = STANDARD_ERROR if stream is None else stream.fileno()
    queue = LogQueue(descriptor, lambda count: _gap(count, form))
    queue.start()
    _queues.append(queue)
    atexit.register(flush)
    globalLogBeginner.beginLoggingTo(
        [observer(queue, level=level, form=form, levels=levels, predicate=PROCESS)],
        redirectStandardIO=False,
    )


def _occupy_standard_files() -> None:
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def flush() -> None:
    """The process ends: its last lines are written, if somebody takes them soon."""
    for queue in _queues:
        queue.flush()


def lines_dropped() -> int:
    """How many lines of this process nobody took."""
    return sum(queue.dropped for queue in _queues)


def set_levels(
    level: str, levels: Mapping[Subsystem, Severity], predicate: LogLevelFilterPredicate = PROCESS
) -> None:
    """The least severe level that is written from now on; `levels`: of subsystems."""
    predicate.clearLogLevels()
    predicate.setLogLevelForNamespace(NAMESPACE, LEVELS[level])
    for subsystem, own in levels.items():
        for logger in SUBSYSTEMS[subsystem]:
            predicate.setLogLevelForNamespace(logger, LEVELS[own])


def change_level(subsystem: str, level: str, predicate: LogLevelFilterPredicate = PROCESS) -> str:
    """That of one subsystem, or of `all`, until `set_levels`; what was done. ConfigurationError."""
    if level not in LEVELS:
        raise ConfigurationError([("level", f"must be one of {', '.join(LEVELS)}")])
    if subsystem not in SUBSYSTEMS and subsystem != ALL:
        known = ", ".join([ALL, *SUBSYSTEMS])
        raise ConfigurationError([("subsystem", f"must be one of {known}")])
    if subsystem == ALL:
        set_levels(level, {}, predicate)
    for each, loggers in SUBSYSTEMS.items():
        if each == subsystem:
            for logger in loggers:
                predicate.setLogLevelForNamespace(logger, LEVELS[level])
    return f"the log has lines of {subsystem} from {level} on, until the next reload"


def writes_steps(logger: str) -> bool:
    """Whether debug lines of it are written: who makes many of them asks first."""
    return bool(PROCESS.logLevelForNamespace(logger) <= LogLevel.debug)


def observer(
    lines: Lines,
    *,
    level: str,
    form: str,
    levels: Mapping[Subsystem, Severity] = NO_LEVELS,
    predicate: LogLevelFilterPredicate | None = None,
) -> ILogObserver:
    """An observer that makes a line of each event of at least `level`.

    Twisted's own chatter is left out below `warn`: when a port opens, we say so ourselves.
    """
    predicate = predicate or LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)
    set_levels(level, levels, predicate)
    return FilteringLogObserver(LogWriter(lines, form), [predicate])


@final
@implementer(ILogObserver)
class LogWriter:
    """Makes each event its line, at once."""

    def __init__(self, lines: Lines, form: str) -> None:
        self._lines = lines
        self._form = form

    def __call__(self, event: LogEvent) -> None:
        """One event."""
        critical = event["log_level"] is LogLevel.critical
        self._lines.put(_line(event, self._form), critical=critical)


def _gap(count: int, form: str) -> bytes:
    event: LogEvent = {
        "log_time": time.time(),
        "log_level": LogLevel.error,
        "log_namespace": __name__,
        "log_format": GAP,
        "count": count,
    }
    return _line(event, form)


def _line(event: LogEvent, form: str) -> bytes:
    line = _json_line(event) if form == "json" else _text_line(event)
    return line.encode("utf-8", "backslashreplace") + b"\n"


def _fields(event: LogEvent) -> tuple[str, str, str, str, str]:
    """Time, level, logger, message and traceback (or empty)."""
    when = datetime.fromtimestamp(event["log_time"], UTC)
    failure = event.get("log_failure")
    return (
        when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03}Z",
        event["log_level"].name,
        str(event.get("log_namespace", "-")),
        formatEvent(event) or "",
        "" if failure is None else failure.getTraceback().rstrip(),
    )


def _text_line(event: LogEvent) -> str:
    told = {
        key: printable(value) if isinstance(value, str) else value for key, value in event.items()
    }
    time, level, logger, message, traceback = _fields(told)
    text = f"{time} {level:<8} {logger}: {message}"
    if traceback:
        text += "\n" + traceback
    # One event, one entry: whatever a message brings along is indented under it.
    return "\n    ".join([printable(line) for line in text.split("\n")])


def _says(value: object) -> bool:
    return isinstance(value, int | str) and value != ""


def _json_line(event: LogEvent) -> str:
    time, level, logger, message, traceback = _fields(event)
    made: dict[str, Any] = {"time": time, "level": level, "logger": logger, "message": message}
    made |= {name: event[key] for key, name in FIELDS.items() if _says(event.get(key))}
    if traceback:
        made["traceback"] = traceback
    return printable_json(json.dumps(made, ensure_ascii=False))
