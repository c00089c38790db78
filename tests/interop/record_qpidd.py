"""Records what a real qpidd answers in the conversations of tests/vectors/qpidd.

    PYTHONPATH=tests:. python -m interop.record_qpidd QPIDD_DIRECTORY [FILE...]

QPIDD_DIRECTORY has `qpidd` and its libraries in `lib`; of FILEs, as `rings`, only those are
recorded anew. Each conversation has a broker of its own, and each line is said when all is answered
that came before. What comes goes to answers.json beside the conversations: the code of the
exception that ended the session, results by their fields, messages by their body and headers, else
"ok"; "waits" of what is not completed. What exceptions say is printed. Tests replay that against
the gateway.
"""

from __future__ import annotations

import json
import select
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interop.record_access import Qpidd, Talk
from support.qpidd_lines import (
    FOLDER,
    Said,
    corpus,
    delivery_in_words,
    pause_ms,
    read,
    result_in_words,
)

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import events
from gateway.amqp_0_10.structs import open_struct, read_header

QUIET_S = 0.25
UNCOMPLETED_S = 0.75
AT_ONCE = 8  # conversations, most of whose time is waiting
ALL = "acl allow all all\n"


class Hearing(Talk):
    """A session that tells all that comes."""

    def __init__(self, port: int) -> None:
        self.told: list[str] = []
        self.texts: list[str] = []
        self.done: set[int] = set()
        self.waiting: dict[int, str] = {}
        super().__init__(port, "u@QPID")

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.ResultReceived):
            value = None if event.value is None else open_struct(event.value)
            self.told.append(result_in_words(value))
        elif isinstance(event, events.CommandsCompleted):
            for first, last in event.ranges:
                self.done.update(range(first, last + 1))
        elif isinstance(event, events.CommandReceived):
            self._command(event)
        else:
            if isinstance(event, events.ExceptionReceived):
                self.texts.append(event.exception.description or "")
            super()._take(event)

    def _command(self, event: events.CommandReceived) -> None:
        if isinstance(event.command, spec.MessageTransfer):
            header = read_header(event.payload, event.body_at)
            body = event.payload[event.body_at :]
            self.told.append(delivery_in_words(event.command, header, body))

    def says(self, said: Said) -> None:
        """Until it is completed, or the session has ended, or nothing more comes."""
        assert self._session is not None
        last = -1
        for command in said.commands:
            final = command is said.commands[-1]
            header, body = (said.header, said.body) if final else (None, b"")
            last = self._session.send_command(command, sync=True, header=header, body=body)
        self._session.send_flush()
        self.hears(lambda: bool(self.outcome) or last in self.done, UNCOMPLETED_S)
        self.hears()
        if last not in self.done and not self.outcome:
            self.waiting[last] = said.name()
            self.told.append("waits")

    def hears(self, enough: Callable[[], bool] = lambda: False, quiet_s: float = QUIET_S) -> None:
        """What comes until nothing does, or it is enough."""
        self._until = time.monotonic() + QUIET_S * 40
        octets = self._connection.data_to_send()
        if octets:
            self._socket.sendall(octets)
        while not self._closed() and not enough():
            if not select.select([self._socket], [], [], quiet_s)[0]:
                return
            self._move()

    def _closed(self) -> bool:
        return self.outcome.startswith("close")

    def takes(self) -> str:
        """What has come since it was last asked."""
        told, self.told = self.told, []
        for number in sorted(self.waiting.keys() & self.done):
            told.append(f"{self.waiting.pop(number)} is completed")
        return "; ".join([*told, *([self.outcome] if self.outcome else [])]) or "ok"


def answered(directory: Path, lines: list[str]) -> list[str]:
    """What the broker answers to each line."""
    with tempfile.TemporaryDirectory() as work:
        broker = Qpidd(directory, ALL, Path(work))
        talks: dict[str, Hearing] = {}
        try:
            return [_answered(broker, talks, line) for line in lines]
        finally:
            for talk in talks.values():
                talk.close()
            broker.stop()


def _answered(broker: Qpidd, talks: dict[str, Hearing], line: str) -> str:
    who, what = read(line)
    if who not in talks or talks[who].outcome:
        talks[who] = Hearing(broker.port)
    talk = talks[who]
    if isinstance(what, Said):
        talk.says(what)
    elif what == "hear":
        talk.hears()
    elif what != "end":
        time.sleep(pause_ms(what) / 1000)
        talk.hears()
    else:
        talk.close()
        del talks[who]
        time.sleep(QUIET_S)
    found = talk.takes()
    for text in talk.texts:
        print(f"{line}\n    {found} {text}")
    talk.texts.clear()
    return found


def main() -> None:
    """Record the files of the corpus that are named, or all."""
    directory = Path(sys.argv[1])
    named = sys.argv[2:]
    file = FOLDER / "answers.json"
    kept = json.loads(file.read_text()) if named else {}
    said: dict[str, dict[str, list[str]]] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, conversations in corpus().items():
            if named and name not in named:
                if name in kept:
                    said[name] = kept[name]
                continue
            lines = [each["lines"] for each in conversations]
            answers = pool.map(lambda each: answered(directory, each), lines)
            names = [each["name"] for each in conversations]
            said[name] = dict(zip(names, answers, strict=True))
    file.write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
