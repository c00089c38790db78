"""One event, one line; a traceback is part of its entry; Twisted's chatter is left out."""

import importlib
import json
import pkgutil
from typing import get_args

import pytest
from support.python_programs import run_python
from twisted.logger import LogEvent, Logger, LogLevel, LogLevelFilterPredicate
from twisted.python.failure import Failure

from gateway import net, service
from gateway.config.settings import Severity, Subsystem
from gateway.net.logs import SUBSYSTEMS, observer, set_levels


def event(level: LogLevel, text: str, namespace: str = "gateway.test") -> LogEvent:
    return {
        "log_time": 1_700_000_000.1234,
        "log_level": level,
        "log_namespace": namespace,
        "log_format": "{text}",
        "text": text,
    }


class Kept:
    """Lines that were put."""

    def __init__(self) -> None:
        self.text = ""
        self.critical: list[bool] = []

    def put(self, line: bytes, *, critical: bool = False) -> None:
        self.text += line.decode()
        self.critical.append(critical)


def written(*events: LogEvent, level: str = "info", form: str = "text") -> str:
    kept = Kept()
    observe = observer(kept, level=level, form=form)
    for each in events:
        observe(each)
    return kept.text


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


# Controls of ASCII and of Latin 1, what ends lines and paragraphs, what turns a text round or hides
# in it, a half of a surrogate pair.
UNSHOWN = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x2028, 0x2029),
    *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    *(0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xE0001, 0xE0041),
    0xD800,
]


@pytest.mark.parametrize("code", UNSHOWN, ids=hex)
def test_no_character_of_a_peer_does_anything_to_the_terminal_or_to_the_line(code: int) -> None:
    text = written(
        event(LogLevel.info, f"one{chr(code)}2023-11-14 forged \u00fc \u05d0 \U0001f600")
    )
    escaped = chr(code).encode("unicode_escape").decode()
    assert text.endswith(f": one{escaped}2023-11-14 forged \u00fc \u05d0 \U0001f600\n")
    assert text[:-1].isprintable()


def test_the_text_of_an_error_may_have_several_lines_and_nothing_else_that_is_not_shown() -> None:
    text = written(event(LogLevel.info, "") | {"text": ValueError("one\n2023 \x1b[2J\u202e\r")})
    assert text.endswith(": one\n    2023 \\x1b[2J\\u202e\\r\n")


def test_a_json_object_has_what_a_peer_said_as_it_is() -> None:
    said = "".join(map(chr, UNSHOWN[:-1]))
    (line,) = written(event(LogLevel.info, said), form="json").split("\n")[:-1]
    assert json.loads(line)["message"] == said


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
    kept = Kept()
    log = Logger(namespace="gateway.x", observer=observer(kept, level="info", form="text"))
    log.info("count {count}", count=3)
    log.critical("the last")
    assert "gateway.x: count 3\n" in kept.text
    assert kept.critical == [False, True]


@pytest.mark.process
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_line_that_tells_of_a_gap_is_a_line_as_others(form: str) -> None:
    program = (
        "import os, sys\n"
        "from gateway.net import logs\n"
        f"logs.begin_logging(sys.stderr, level='critical', form='{form}')\n"
        "from twisted.logger import Logger\n"
        "log, held = Logger(namespace='gateway.x'), os.dup(2)\n"
        "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)\n"
        "log.critical('nobody hears of this')\n"
        "logs.flush()\n"
        "os.dup2(held, 2)\n"
        "log.critical('but of this')\n"
        "logs.flush()\n"
        "print(logs.lines_dropped())\n"
    )
    done = run_python(program)
    first, second = done.stderr.splitlines()
    assert done.stdout == "1\n"
    assert "but of this" in first
    words = "1 lines of the log are missing here: nobody took them"
    if form == "json":
        told = json.loads(second)
        assert (told["level"], told["message"]) == ("error", words)
    else:
        assert second.endswith(f" error    gateway.net.logs: {words}")


@pytest.mark.process
def test_no_other_file_has_the_number_of_a_standard_error_that_was_closed() -> None:
    program = (
        "import os, sys\n"
        "from twisted.logger import Logger\n"
        "from gateway.net.logs import begin_logging, flush\n"
        "begin_logging(sys.stderr, level='info', form='text')\n"
        "Logger(namespace='gateway.x').info('nobody hears of this')\n"
        "flush()\n"
        "print(os.readlink('/proc/self/fd/2'), os.open('/', os.O_RDONLY) > 2)\n"
    )
    done = run_python(program, within=["sh", "-c", 'exec "$@" 2>&-', "sh"])
    assert done.stdout == "/dev/null True\n"


@pytest.mark.process
def test_what_is_logged_last_is_written_before_the_process_ends() -> None:
    program = (
        "import sys\n"
        "from twisted.logger import Logger\n"
        "from gateway.net.logs import begin_logging\n"
        "begin_logging(sys.stderr, level='info', form='text')\n"
        "for number in range(2000):\n"
        "    Logger(namespace='gateway.x').info('line {number}', number=number)\n"
    )
    done = run_python(program)
    lines = done.stderr.splitlines()
    assert [line.rpartition(": line ")[2] for line in lines] == [str(n) for n in range(2000)]


def test_a_json_object_tells_apart_what_the_line_is_about_as_the_audit_log_calls_it() -> None:
    about = {
        "log_format": "connection {connection} from {endpoint}: {text}{more}",
        "connection": 7,
        "endpoint": "192.0.2.1:5",
        "host": "",
        "user": None,
        "more": "!",
    }
    (line,) = written(event(LogLevel.info, "hello") | about, form="json").splitlines()
    told = json.loads(line)
    assert told["message"] == "connection 7 from 192.0.2.1:5: hello!"
    assert set(told) - {"time", "level", "logger", "message"} == {"connection", "address"}
    assert (told["connection"], told["address"]) == (7, "192.0.2.1:5")


def test_a_subsystem_may_have_a_level_of_its_own_until_that_is_taken_back() -> None:
    kept = Kept()
    predicate = LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)
    levels: dict[Subsystem, Severity] = {"upstreams": "debug", "clients": "error"}
    observe = observer(kept, level="info", form="text", levels=levels, predicate=predicate)
    lines = [
        event(LogLevel.debug, "tries", "gateway.net.upstream.Dialer"),
        event(LogLevel.info, "opened", "gateway.net.connections"),
        event(LogLevel.info, "starts", "gateway.service.Service"),
        event(LogLevel.debug, "thinks", "gateway.service.Service"),
        event(LogLevel.info, "chatters", "twisted"),
    ]
    for each in lines:
        observe(each)
    assert [line.rpartition(": ")[2] for line in kept.text.splitlines()] == ["tries", "starts"]
    set_levels("info", {}, predicate)
    kept.text = ""
    for each in lines:
        observe(each)
    assert [line.rpartition(": ")[2] for line in kept.text.splitlines()] == ["opened", "starts"]


def test_each_subsystem_that_can_be_configured_has_loggers_and_each_of_those_is_one() -> None:
    assert set(SUBSYSTEMS) == set(get_args(Subsystem))
    names = loggers()
    for prefix in (each for prefixes in SUBSYSTEMS.values() for each in prefixes):
        assert any(name == prefix or name.startswith(f"{prefix}.") for name in names), prefix


def loggers() -> list[str]:
    """Of all modules that log."""
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
    return sorted(names)


def test_operators_find_the_loggers_by_the_names_that_they_know() -> None:
    """A name stays when its module moves; one without is that of its module and class."""
    assert loggers() == [
        "gateway.net.admin.disk.Disk",
        "gateway.net.admin.expiring.UpstreamCertificates",
        "gateway.net.admin.scrape.Scrape",
        "gateway.net.admin.tokens.Tokens",
        "gateway.net.authenticate.Authentication",
        "gateway.net.authenticate.PeerAuthenticator",
        "gateway.net.backup.Backup",
        "gateway.net.connections",
        "gateway.net.control.Control",
        "gateway.net.credentials.UpstreamCredentials",
        "gateway.net.detours.DetourDialers",
        "gateway.net.duties.Duties",
        "gateway.net.held_back.HeldBack",
        "gateway.net.keepalive.Unanswered",
        "gateway.net.kept_files.KeptFiles",
        "gateway.net.listen.Door",
        "gateway.net.listening.decisions.DecisionLog",
        "gateway.net.passwords.Passwords",
        "gateway.net.pump.Pump",
        "gateway.net.reload.Reloading",
        "gateway.net.renewal.Renewal",
        "gateway.net.stalls.Stalls",
        "gateway.net.stopping.Stopping",
        "gateway.net.tracing",
        "gateway.net.turns.TurnLoop",
        "gateway.net.upstream.Dialer",
        "gateway.net.upstreams.Moves",
        "gateway.net.upstreams.watching.Watching",
        "gateway.net.withdrawing",
        "gateway.service.Service",
        "gateway.service.alerts.AlertLines",
        "gateway.service.drift.DriftLines",
        "gateway.service.expiry.ExpiryLines",
        "gateway.service.heads.HeadLines",
        "gateway.service.letting_go.LettingGo",
        "gateway.service.paging.PagingLines",
        "gateway.service.starting.Starting",
    ]
