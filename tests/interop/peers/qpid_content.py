#!/usr/bin/env python2.7
"""The old Python client of AMQP 0-10 speaks the classes file and stream. Python 2.7 only.

Its package has both in its XML, but makes no commands of them: that is done here, by its own code,
and what it does not know is when to say them. A test says it, a JSON line on standard input for
each step, which is answered by a line "done" or "refused"; what the peer says comes as lines, too,
at any time. Of a file that the peer stages, it asks for what is behind the octets that it has been
told by "hold" are there already.

    qpid_content.py PORT
"""

import hashlib
import json
import os
import socket
import sys
import threading

from qpid import connection, datatypes, delegates, framing, generator, ops, session, specs_config
from qpid.util import notify, wait

CLASSES = ("file", "stream")


def load_classes():
    """As qpid.ops and qpid.generator do at their import, for the two that they leave out."""
    ops.included = lambda node: True
    for name, bases, members in ops.load_types_from_xml(specs_config.amqp_spec):
        known = members["NAME"]
        if known.split("_")[0] not in CLASSES:
            continue
        made = type(name, bases, members)
        setattr(ops, name, made)
        table = ops.COMMANDS if issubclass(made, ops.Command) else ops.COMPOUND
        table[made.NAME] = table[made.CODE] = made
        setattr(session.Session, made.NAME, generator.METHOD(session.__name__, made))


load_classes()

STRUCTS = {
    "file_properties": ops.FileProperties,
    "stream_properties": ops.StreamProperties,
    "delivery_properties": ops.DeliveryProperties,
    "message_properties": ops.MessageProperties,
}
PATIENCE_S = 60
OUTPUT = threading.Lock()


def say(**line):
    with OUTPUT:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def readable(given):
    """A decoded value for the test."""
    if isinstance(given, ops.Compound):
        members = [(each.name, getattr(given, each.name)) for each in given.FIELDS]
        return dict((name, readable(item)) for name, item in members if item is not None)
    if isinstance(given, dict):
        return dict((key, readable(item)) for key, item in given.items())
    if isinstance(given, list):
        return [readable(item) for item in given]
    if isinstance(given, datatypes.RangedSet):
        return [[int(each.lower.value), int(each.upper.value)] for each in given]
    if isinstance(given, datatypes.timestamp):
        return int(given)
    if isinstance(given, str):
        return given.decode("latin-1")
    if given is None or isinstance(given, (bool, int, long, float, unicode)):  # noqa: F821
        return given
    return str(given)


def content(command):
    """Headers and body of a command, for the test."""
    found = {}
    if command.headers is not None:
        found["headers"] = dict((each.NAME, readable(each)) for each in command.headers)
    if command.payload is not None:
        found["size"] = len(command.payload)
        found["digest"] = hashlib.sha256(command.payload).hexdigest()
        if len(command.payload) <= 1000:
            found["body"] = command.payload.decode("latin-1")
    return found


class Heard(session.Client):
    """What the peer says in a session goes to the test; a file that it opens is asked for."""

    holds = 0  # how many octets of each file are said to be there; None: nothing is said

    def __getattr__(self, name):
        if name in ops.COMMANDS:
            return self.tell
        raise AttributeError(name)

    def tell(self, command):
        fields = readable(command)
        say(event=command.NAME, session=self.session.called, **dict(fields, **content(command)))
        if command.NAME == "file_open" and self.holds is not None:
            self.answer()
        self.complete(command)

    def answer(self):
        confirmed = ops.FileOpenOk(staged_size=self.holds)
        confirmed.channel = self.session.channel.id
        with self.session.invoke_lock:
            self.session.send(confirmed)

    def message_transfer(self, command):
        self.tell(command)

    def execution_exception(self, command):
        session.Client.execution_exception(self, command)
        self.tell(command)

    def complete(self, command):
        """At once, as a gateway waits for it that has a window of unconfirmed ones."""
        self.session.receiver.completed(command)
        channel = self.session.channel
        if channel is not None:
            channel.session_completed(self.session.receiver._completed)


class Controls(delegates.Client):
    """With what the client does not know of the controls."""

    def session_expected(self, channel, expected):
        channel.session.fenced = True
        notify(channel.session.condition)

    def session_confirmed(self, channel, confirmed):
        pass


def connected(port, **login):
    made = connection.Connection(
        socket.create_connection(("127.0.0.1", port)), delegate=Controls, **login
    )
    made.start(PATIENCE_S)
    return made


class Steps:
    """What the test may ask for."""

    def __init__(self, port):
        self.port = port
        self.connections = {}
        self.sessions = {}

    def session(self, name, on="first", **login):
        if on not in self.connections:
            self.connections[on] = connected(self.port, **login)
        unique = "-".join([name, str(os.getpid())])
        made = self.connections[on].session(unique, delegate=Heard)
        made.auto_sync, made.called = False, name
        self.sessions[name] = made

    def command(self, session, name, fields, sync=True, body=None, times=1, headers=None):
        """A command with its content; `sync`: until it is completed."""
        spoken = dict((str(key), unwrapped(item)) for key, item in fields.items())
        if headers is not None:
            spoken["headers"] = structs(headers)
        if body is not None:
            spoken["payload"] = body.encode("latin-1") * times
        made = self.sessions[session]
        getattr(made, name)(**spoken)
        if sync:
            made.sync(PATIENCE_S)

    def part(self, session, headers, body, times, frames, frame_size):
        """The first frames of a file.stage, and no more of it."""
        made = self.sessions[session]
        stage = ops.FileStage(headers=structs(headers), payload=body.encode("latin-1") * times)
        stage.channel = made.channel.id
        segments, cut = framing.OpEncoder(), framing.FrameEncoder()
        segments.write(stage)
        pieces = framing.SegmentEncoder(frame_size)
        pieces.write(*segments.read())
        cut.write(*pieces.read()[:frames])
        made.sender.next_id += 1
        with made.channel.connection.sock_lock:
            made.channel.connection.write(cut.read())
            made.channel.connection.flush()

    def sync(self, session):
        self.sessions[session].sync(PATIENCE_S)

    def unconfirmed(self, session):
        """How many commands are not completed, now that all are heard."""
        made = self.sessions[session]
        made.fenced = False
        made.channel.session_flush(completed=True)
        made.channel.session_flush(expected=True)
        assert wait(made.condition, lambda: made.fenced, PATIENCE_S), "flush without an answer"
        say(event="unconfirmed", session=session, count=len(made.sender.commands))

    def hold(self, octets):
        Heard.holds = octets

    def detach(self, session):
        self.sessions.pop(session).close(PATIENCE_S)

    def cut(self, on="first"):
        made = self.connections.pop(on)
        made.sock.shutdown(socket.SHUT_RDWR)
        made.thread.join(PATIENCE_S)


def structs(headers):
    return [
        STRUCTS[name](**dict((str(key), unwrapped(item)) for key, item in fields.items()))
        for name, fields in headers.items()
    ]


def unwrapped(given):
    """What JSON has no form for: ids of commands, reply-to, a time, octets, a branch."""
    if not isinstance(given, dict) or list(given) not in (
        ["ids"],
        ["reply-to"],
        ["time"],
        ["octets"],
        ["xid"],
    ):
        return given
    [(kind, item)] = given.items()
    if kind == "ids":
        return datatypes.RangedSet(*item)
    if kind == "reply-to":
        return ops.ReplyTo(*item)
    if kind == "xid":
        return ops.Xid(1, item.encode("latin-1"), "")
    if kind == "octets":
        return item.encode("latin-1")
    return datatypes.timestamp(item)


def why(error, session):
    told = error.args[0] if error.args else None
    if told is None and session is not None:  # it had ended before anybody waited for it
        told = session.error()
    if isinstance(told, ops.ExecutionException):
        return {"code": told.error_code, "text": told.description}
    return {"code": None, "text": type(error).__name__ + ": " + str(error)}


def main(port):
    steps = Steps(port)
    while True:
        line = sys.stdin.readline()
        if not line:
            break
        wanted = json.loads(line)
        step = wanted.pop("step")
        try:
            getattr(steps, step)(**dict((str(key), item) for key, item in wanted.items()))
            say(event="done", step=step)
        except Exception as error:  # the test reads the reason, whatever it is
            say(event="refused", step=step, **why(error, steps.sessions.get(wanted.get("session"))))


if __name__ == "__main__":
    main(int(sys.argv[1]))
