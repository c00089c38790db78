"""Records what a real qpidd answers in the conversations of tests/vectors/qpidd.

    PYTHONPATH=tests:. python -m interop.record_qpidd QPIDD_DIRECTORY

QPIDD_DIRECTORY has `qpidd` and its libraries in `lib`. Each conversation has a broker of its own,
and each line is said when all is answered that came before. What comes goes to answers.json beside
the conversations: the code of the exception that ended the session, results by their fields,
messages by their body, else "ok". Tests replay that against the gateway.
"""

from __future__ import annotations

import json
import select
import sys
import tempfile
import time
from pathlib import Path

from interop.record_access import Qpidd, Talk
from support.qpidd_lines import FOLDER, Said, corpus, delivery_in_words, read, result_in_words

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import events
from gateway.amqp_0_10.structs import open_struct, read_header

QUIET_S = 0.25
ALL = "acl allow all all\n"


class Hearing(Talk):
    """A session that tells all that comes."""

    def __init__(self, port: int) -> None:
        self.told: list[str] = []
        self.done = -1
        super().__init__(port, "u@QPID")

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.ResultReceived):
            value = None if event.value is None else open_struct(event.value)
            self.told.append(result_in_words(value))
        elif isinstance(event, events.CommandsCompleted):
            self.done = max([self.done, *(last for _, last in event.ranges)])
        elif isinstance(event, events.CommandReceived):
            self._command(event)
        else:
            super()._take(event)

    def _command(self, event: events.CommandReceived) -> None:
        if isinstance(event.command, spec.MessageTransfer):
            delivery, _, _ = read_header(event.payload, event.body_at)
            again = delivery is not None and bool(delivery.redelivered)
            body = event.payload[event.body_at :]
            self.told.append(delivery_in_words(event.command, again, body))

    def says(self, said: Said) -> None:
        """Until all of it is completed, or the session has ended."""
        assert self._session is not None
        last = -1
        for command in said.commands:
            final = command is said.commands[-1]
            header, body = (said.header, said.body) if final else (None, b"")
            last = self._session.send_command(command, sync=True, header=header, body=body)
        self._session.send_flush()
        while not self.outcome and self.done < last:
            self._move()
        self.hears()

    def hears(self) -> None:
        """What comes until nothing does."""
        self._until = time.monotonic() + QUIET_S * 40
        octets = self._connection.data_to_send()
        if octets:
            self._socket.sendall(octets)
        while select.select([self._socket], [], [], QUIET_S)[0]:
            self._move()
            if self.outcome.startswith("close"):
                return

    def takes(self) -> str:
        """What has come since it was last asked."""
        told, self.told = self.told, []
        return "; ".join([*told, *([self.outcome] if self.outcome else [])]) or "ok"


def answered(directory: Path, lines: list[str]) -> list[str]:
    """What the broker answers to each line."""
    with tempfile.TemporaryDirectory() as work:
        broker = Qpidd(directory, ALL, Path(work))
        talks: dict[str, Hearing] = {}
        found = []
        for line in lines:
            who, what = read(line)
            if who not in talks or talks[who].outcome:
                talks[who] = Hearing(broker.port)
            talk = talks[who]
            if isinstance(what, Said):
                talk.says(what)
            elif what == "hear":
                talk.hears()
            else:
                talk.close()
                del talks[who]
                time.sleep(QUIET_S)
            found.append(talk.takes())
        for talk in talks.values():
            talk.close()
        broker.stop()
    return found


def main() -> None:
    """Record all of the corpus."""
    directory = Path(sys.argv[1])
    said: dict[str, dict[str, list[str]]] = {}
    for name, conversations in corpus().items():
        said[name] = {}
        for each in conversations:
            said[name][each["name"]] = answered(directory, each["lines"])
            print(name, each["name"])
    (FOLDER / "answers.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
