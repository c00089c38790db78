#!/usr/bin/env python2.7
"""The session layer of the old Python client of AMQP 0-10 (qpid.session). Python 2.7 only.

It keeps what it has sent and knows what it expects, but nothing in it attaches a session again:
that is done here, between two connections that break, with its own objects. What it was told, and
the bodies that it was sent, are JSON lines on standard output.

    qpid_session.py PORT
"""

import json
import socket
import sys

from qpid import delegates
from qpid.connection import Connection
from qpid.datatypes import Message, RangedSet, serial
from qpid.util import notify, wait

NAME = "python's own"


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Delegate(delegates.Client):
    """With what the client does not know of the controls."""

    def __init__(self, connection):
        delegates.Client.__init__(self, connection)
        self.told = {}

    def _tell(self, what, value, channel):
        self.told[what] = value
        notify(channel.session.condition)

    def session_timeout(self, channel, timeout):
        self._tell("timeout", timeout.timeout, channel)

    def session_expected(self, channel, expected):
        commands = expected.commands or RangedSet()
        first = [int(each.lower.value) for each in commands.ranges]
        self._tell("expected", first, channel)

    def session_attached(self, channel, attached):
        self._tell("attached", True, channel)

    def session_confirmed(self, channel, confirmed):
        pass


def connected(port):
    connection = Connection(socket.create_connection(("127.0.0.1", port)), delegate=Delegate)
    connection.start(10)
    return connection


def heard(connection, session, what):
    told = connection.delegate.told
    assert wait(session.condition, lambda: what in told, 10), "not told: " + what
    return told.pop(what)


def cut(connection, session):
    """The transport breaks; the library would end the session with it."""
    connection.attached.clear()
    connection.sessions.clear()
    session.channel = None
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.thread.join(10)


def attach_again(port, session):
    connection = connected(port)
    connection.sessions[NAME] = session
    session.send_id = False
    connection.session(NAME)
    heard(connection, session, "attached")
    session.channel.session_flush(expected=True, completed=True)
    expected = heard(connection, session, "expected")
    at = expected[0] if expected else 0
    again = [command for command in session.sender.commands if command.id.value >= at]
    say(event="attached again", expected=expected, again=len(again))
    session.channel.session_command_point(serial(at), 0)
    for command in again:
        command.channel = session.channel.id
        connection.write_op(command)
    return connection


def publish(session, body):
    properties = session.delivery_properties(routing_key="q")
    session.message_transfer(message=Message(properties, body))


def consume(session, count):
    queue = session.incoming("d")
    for _ in range(count):
        message = queue.get(timeout=10)
        say(event="received", body=message.body)
        session.receiver._completed.add(message.id)
        session.channel.session_completed(session.receiver._completed)
        session.message_accept(RangedSet(message.id))


def main(port):
    connection = connected(port)
    session = connection.session(NAME)
    heard(connection, session, "attached")
    session.channel.session_request_timeout(60)
    say(event="granted", seconds=heard(connection, session, "timeout"))
    session.auto_sync = False
    session.queue_declare(queue="q")
    session.message_subscribe(queue="q", destination="d")
    for unit in (0, 1):
        session.message_flow("d", unit, 0xFFFFFFFF)
    for number in range(3):
        publish(session, str(number))
    session.sync(10)
    consume(session, 1)
    connection.write_op = lambda command: None  # what follows goes nowhere, and is kept
    for number in range(3, 6):
        publish(session, str(number))
    cut(connection, session)
    connection = attach_again(port, session)
    consume(session, 5)
    session.sync(10)
    unread = session.incoming("d").qsize()
    say(event="in doubt", count=len(session.sender.commands), unread=unread)
    session.channel.session_request_timeout(0)
    say(event="granted", seconds=heard(connection, session, "timeout"))
    session.close(10)
    connection.close(10)


if __name__ == "__main__":
    main(int(sys.argv[1]))
