"""One event, one line; a traceback is part of its entry; Twisted's chatter is left out."""

import importlib
import io
import json
import pkgutil

from twisted.logger import LogEvent, Logger, LogLevel
from twisted.python.failure import Failure

from gateway import net, service
from gateway.net.logs import observer


def event(level: LogLevel, text: str, namespace: str = "gateway.test") -> LogEvent:
    return {
        "log_time": 1_700_000_000.1234,
        "log_level": level,
        "log_namespace": namespace,
        "log_format": "{text}",
        "text": text,
    }


def written(*events: LogEvent, level: str = "info", form: str = "text") -> str:
    stream = io.StringIO()
    observe = observer(stream, level=level, form=form)
    for each in events:
        observe(each)
    return stream.getvalue()


def failed() -> LogEvent:
    try:
        raise ZeroDivisionError("no\nway")
    except ZeroDivisionError:
        return event(LogLevel.critical, "it broke") | {"log_failure": Failure()}


def test_a_line_for_people() -> None:
    assert written(event(LogLevel.info, "hello")) == (
        "2023-11-14T22:13:20.123Z info     gateway.test: hello\n"
    )


def test_what_a_message_brings_along_cannot_look_like_another_entry() -> None:
    assert written(event(LogLevel.info, "one\n2023-11-14 forged")).count("\n2023") == 0
    text = written(failed())
    assert "\n    Traceback" in text
    assert all(line.startswith("    ") for line in text.splitlines()[1:])


def test_a_json_object_a_line() -> None:
    first, second = map(
        json.loads, written(event(LogLevel.warn, "ü"), failed(), form="json").splitlines()
    )
    assert first == {
        "time": "2023-11-14T22:13:20.123Z",
        "level": "warn",
        "logger": "gateway.test",
        "message": "ü",
    }
    assert second["traceback"].startswith("Traceback")


def test_levels_below_the_one_asked_for_are_left_out() -> None:
    events = [event(LogLevel.debug, "d"), event(LogLevel.info, "i"), event(LogLevel.error, "e")]
    assert written(*events, level="error").count("\n") == 1
    assert written(*events, level="debug").count("\n") == 3


def test_twisted_is_heard_from_warnings_on() -> None:
    quiet = event(LogLevel.info, "starting", "twisted.web")
    loud = event(LogLevel.warn, "odd", "twisted.web")
    assert written(quiet, loud).count("\n") == 1


def test_an_event_of_a_logger_is_written() -> None:
    stream = io.StringIO()
    log = Logger(namespace="gateway.x", observer=observer(stream, level="info", form="text"))
    log.info("count {count}", count=3)
    assert stream.getvalue().endswith("gateway.x: count 3\n")


def test_operators_find_the_loggers_by_the_names_that_they_know() -> None:
    """A name stays when its module moves; one without is that of its module and class."""
    names: set[str] = set()
    rooms = (
        *pkgutil.walk_packages(net.__path__, "gateway.net."),
        *pkgutil.walk_packages(service.__path__, "gateway.service."),
    )
    for module in rooms:
        for held in vars(importlib.import_module(module.name)).values():
            log = held if isinstance(held, Logger) else getattr(held, "log", None)
            if isinstance(log, Logger) and log.namespace.startswith("gateway."):
                names.add(log.namespace)
    assert sorted(names) == [
        "gateway.net.admin.scrape.Scrape",
        "gateway.net.admin.tokens.Tokens",
        "gateway.net.authenticate.Authentication",
        "gateway.net.authenticate.PeerAuthenticator",
        "gateway.net.backup.Backup",
        "gateway.net.connections",
        "gateway.net.control.Control",
        "gateway.net.credentials.UpstreamCredentials",
        "gateway.net.detours.DetourDialers",
        "gateway.net.held_back.HeldBack",
        "gateway.net.keepalive.Unanswered",
        "gateway.net.listen.Door",
        "gateway.net.listening.decisions.DecisionLog",
        "gateway.net.passwords.Passwords",
        "gateway.net.pump.Pump",
        "gateway.net.reload.Reloading",
        "gateway.net.renewal.Renewal",
        "gateway.net.stalls.Stalls",
        "gateway.net.stopping.Stopping",
        "gateway.net.turns.TurnLoop",
        "gateway.net.upstream.Dialer",
        "gateway.net.withdrawing",
        "gateway.service.Service",
    ]
