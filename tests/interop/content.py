"""The old Python client in the classes file and stream of 0-10, as a child process.

A test says each command; what the gateway says in a session is heard in the order in which it
comes, and kept until somebody wants it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from interop.foreign import ForeignError, python27

Event = dict[str, Any]  # what a JSON line holds
TIME_LIMIT_S = 90  # longer than the client itself waits
FRAME = 65523  # octets of a body in one frame of this client


class RefusedError(AssertionError):
    """The gateway refused a command, and ended its session."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class File(NamedTuple):
    """A file that was delivered."""

    delivery_tag: int
    body: str
    properties: Event
    redelivered: bool
    delivered: Event


class Staged(NamedTuple):
    """A file that the gateway has opened and staged."""

    opened: Event
    staged: Event


class Client:
    """One process, with any number of connections and sessions."""

    def __init__(self, port: int) -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        command, environment = python27("qpid_content.py")
        self._process = subprocess.Popen(
            [*command, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env={**os.environ, **environment},
        )
        self._lines: queue.Queue[Event | None] = queue.Queue()
        self._kept: dict[str, list[Event]] = defaultdict(list)
        threading.Thread(target=self._listen, daemon=True).start()

    def session(self, name: str, on: str = "first", **login: str) -> Session:
        """A new one, on the connection of that name."""
        self.step("session", name=name, on=on, **login)
        return Session(self, name)

    def hold(self, octets: int | None) -> None:
        """Say of files from now on that so many octets are there; None: do not ask for them."""
        self.step("hold", octets=octets)

    def cut(self, on: str = "first") -> None:
        """The connection breaks."""
        self.step("cut", on=on)

    def step(self, step: str, **fields: Any) -> None:
        """Ask for a step and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"step": step, **fields}) + "\n")
        self._process.stdin.flush()
        answered = self._answer()
        if answered["event"] == "refused":
            raise RefusedError(answered["code"], answered["text"])

    def heard(self, session: str, event: str) -> Event:
        """The next of this kind that came in that session, now or soon."""
        while True:
            for each in self._kept[session]:
                if each["event"] == event:
                    self._kept[session].remove(each)
                    return each
            self._keep(self._next())

    def kept(self, session: str, event: str) -> list[Event]:
        """What has come of this kind so far and is not taken."""
        return [each for each in self._kept[session] if each["event"] == event]

    def end(self) -> None:
        """It ends, whatever it is doing."""
        self._process.kill()
        self._process.wait()

    def _answer(self) -> Event:
        while True:
            line = self._next()
            if line["event"] in ("done", "refused"):
                return line
            self._keep(line)

    def _keep(self, line: Event) -> None:
        self._kept[line["session"]].append(line)

    def _next(self) -> Event:
        try:
            line = self._lines.get(timeout=TIME_LIMIT_S)
        except queue.Empty:
            line = None
        if line is None:
            self.end()
            self._complaints.seek(0)
            raise ForeignError(f"said no more than {dict(self._kept)}\n{self._complaints.read()}")
        return line

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)


class Session:
    """A session, and what one says and hears in it."""

    _identifiers = itertools.count(1)

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self._staged: dict[str, Staged] = {}

    def say(self, command: str, **fields: Any) -> None:
        """A command without content, until it is complete; RefusedError where it is refused."""
        self.send(command, fields)

    def send(self, command: str, fields: Event, **how: Any) -> None:
        """A command; `how`: its body, how many times that, headers, and whether to sync."""
        self._client.step("command", session=self._name, name=command, fields=fields, **how)

    def sync(self) -> None:
        """All that was said is complete."""
        self._client.step("sync", session=self._name)

    def unconfirmed(self) -> int:
        """How many commands the gateway has heard and not completed."""
        self._client.step("unconfirmed", session=self._name)
        return int(self.heard("unconfirmed")["count"])

    def detach(self) -> None:
        self._client.step("detach", session=self._name)

    def heard(self, event: str) -> Event:
        """The next command of this name, now or soon."""
        return self._client.heard(self._name, event)

    def so_far(self, event: str) -> list[Event]:
        """What came of this name and nobody took, up to now: all that came before its answer."""
        self.say("execution_sync")
        return self._client.kept(self._name, event)

    def refused(self, command: str, **fields: Any) -> int:
        """The code by which a command is refused; the session is gone then."""
        return _refused(self.say, command, **fields)

    def declare(self, queue: str, **fields: Any) -> str:
        """A durable queue."""
        self.say("queue_declare", queue=queue, durable=True, **fields)
        return queue

    def open(self, identifier: str, size: int) -> int:
        """How much of it the gateway says is staged."""
        self.say("file_open", identifier=identifier, content_size=size)
        return int(self.heard("file_open_ok").get("staged_size", 0))

    def stage(self, body: str, *, times: int = 1, sync: bool = True, **properties: Any) -> None:
        """What is behind the octets that are staged."""
        headers = {"file_properties": properties}
        self.send("file_stage", {}, body=body, times=times, headers=headers, sync=sync)

    def stage_in_part(
        self, body: str, *, frames: int, times: int = 1, frame: int = FRAME, **properties: Any
    ) -> None:
        """The first frames of it, of which the first two are the command and its header."""
        headers = {"file_properties": properties}
        self._client.step(
            "part",
            session=self._name,
            headers=headers,
            body=body,
            times=times,
            frames=frames,
            frame_size=frame,
        )

    def stage_refused(self, body: str) -> int:
        """The code by which the gateway refuses to stage this; the session is gone then."""
        return _refused(self.stage, body)

    def packet_refused(self, body: str, routing_key: str, **fields: Any) -> int:
        """The same of a message of the class stream."""
        return _refused(self.send_packet, body, routing_key, **fields)

    def staged(self, body: str, **properties: Any) -> str:
        """A whole file, and the identifier that it has."""
        identifier = f"{self._name}-{next(self._identifiers)}"
        assert self.open(identifier, len(body)) == 0
        self.stage(body, **properties)
        return identifier

    def publish(
        self,
        body: str,
        routing_key: str,
        *,
        sync: bool = True,
        file: Event | None = None,
        **fields: Any,
    ) -> None:
        """A whole file; `fields` of file.publish, `file`: its properties."""
        identifier = self.staged(body, **(file or {}))
        said = {"routing_key": routing_key, "identifier": identifier, **fields}
        self.send("file_publish", said, sync=sync)

    def consume(self, queue: str, tag: str = "t", **fields: Any) -> None:
        """Start to consume files."""
        self.say("file_consume", queue=queue, consumer_tag=tag, **fields)
        assert self.heard("file_consume_ok")["consumer_tag"] == tag

    def file(self) -> File:
        """The next file that is delivered, with what was staged for it."""
        delivered = self.heard("file_deliver")
        identifier = delivered["identifier"]
        while identifier not in self._staged:
            opened = self.heard("file_open")
            self._staged[opened["identifier"]] = Staged(opened, self.heard("file_stage"))
        staged = self._staged.pop(identifier)
        return File(
            int(delivered["delivery_tag"]),
            staged.staged.get("body", ""),
            staged.staged["headers"]["file_properties"],
            bool(delivered.get("redelivered")),
            {**delivered, "staged": staged},
        )

    def files(self, count: int) -> list[str]:
        """The bodies of so many."""
        return [self.file().body for _ in range(count)]

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self.say("file_ack", delivery_tag=delivery_tag, multiple=multiple)

    def send_packet(self, body: str, routing_key: str, *, sync: bool = True, **fields: Any) -> None:
        """A message of the class stream; `packet`: its properties."""
        headers = {"stream_properties": fields.pop("packet", {})}
        said = {"routing_key": routing_key, **fields}
        self.send("stream_publish", said, body=body, headers=headers, sync=sync)

    def stream(self, queue: str, tag: str = "t", **fields: Any) -> None:
        """Start to consume a stream."""
        self.say("stream_consume", queue=queue, consumer_tag=tag, **fields)
        assert self.heard("stream_consume_ok")["consumer_tag"] == tag

    def packets(self, count: int) -> list[str]:
        """The bodies of so many of a stream."""
        return [str(self.heard("stream_deliver").get("body", "")) for _ in range(count)]

    def transfer(self, body: str, routing_key: str, **headers: Any) -> None:
        """A message of the class message, to the default exchange."""
        sent = {"delivery_properties": {"routing_key": routing_key}, **headers}
        self.send("message_transfer", {}, body=body, headers=sent)

    def subscribe(self, queue: str, destination: str = "d") -> None:
        """Start to receive by the class message, without limit."""
        self.say("message_subscribe", queue=queue, destination=destination)
        for unit in (0, 1):
            self.say("message_flow", destination=destination, unit=unit, value=0xFFFFFFFF)


def _refused(said: Callable[..., None], *what: Any, **fields: Any) -> int:
    try:
        said(*what, **fields)
    except RefusedError as error:
        assert error.code is not None, error
        return error.code
    raise AssertionError(f"{what} was not refused")


def digest(body: str) -> str:
    """What the client says of a body that is too long to say."""
    return hashlib.sha256(body.encode("latin-1")).hexdigest()


@contextmanager
def talking(port: int) -> Iterator[Client]:
    """A client, and its end."""
    client = Client(port)
    try:
        yield client
    finally:
        client.end()
