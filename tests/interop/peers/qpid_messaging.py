#!/usr/bin/env python2.7
"""The Python client of AMQP 0-10 (qpid.messaging), driven by a test. Runs on Python 2.7 only.

Verbs send, receive, request, respond, forward; options as ``--name value``; messages as JSON lines
on standard input, what happened as JSON lines on standard output, in the form of the other peers: a
value is a pair [type, value], octets are hexadecimal.
"""

import datetime
import json
import sys
import uuid

from qpid.datatypes import timestamp
from qpid.messaging import ConnectError, Connection, Empty, Message, driver


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def value(pair):
    kind, given = pair
    if kind == "map":
        return dict((key, value(item)) for key, item in given.items())
    if kind == "list":
        return [value(item) for item in given]
    made = {
        "null": lambda: None,
        "boolean": lambda: bool(given),
        "long": lambda: int(given),
        "double": lambda: float(given),
        "string": lambda: given,
        "binary": lambda: given.decode("hex"),
        "uuid": lambda: uuid.UUID(given),
        "timestamp": lambda: timestamp(int(given) / 1000.0),
    }
    return made[kind]()


def pair(given):
    if given is None:
        return ["null", None]
    if isinstance(given, dict):
        return ["map", dict((key, pair(item)) for key, item in given.items())]
    if isinstance(given, (list, tuple)):
        return ["list", [pair(item) for item in given]]
    if isinstance(given, bool):
        return ["boolean", given]
    if isinstance(given, (int, long)):  # noqa: F821 - Python 2.7
        return ["long", str(given)]
    if isinstance(given, timestamp):
        return ["timestamp", str(int(float(given) * 1000))]
    if isinstance(given, float):
        return ["double", repr(given)]
    if isinstance(given, datetime.datetime):
        return ["datetime", given.isoformat()]
    if isinstance(given, uuid.UUID):
        return ["uuid", str(given)]
    if isinstance(given, unicode):  # noqa: F821 - Python 2.7
        return ["string", given]
    return ["binary", str(given).encode("hex")]


def message(wanted):
    made = Message(value(wanted.get("body", ["binary", ""])))
    for name, item in wanted.get("properties", {}).items():
        made.properties[name] = value(item)
    if "message-id" in wanted:
        made.id = uuid.UUID(wanted["message-id"])
    if "ttl-ms" in wanted:
        made.ttl = wanted["ttl-ms"] / 1000.0
    for member, name in (
        ("subject", "subject"),
        ("user-id", "user_id"),
        ("reply-to", "reply_to"),
        ("correlation-id", "correlation_id"),
        ("content-type", "content_type"),
        ("priority", "priority"),
    ):
        if member in wanted:
            text = wanted[member]
            setattr(made, name, text.encode("utf-8") if isinstance(text, unicode) else text)  # noqa: F821
    made.durable = wanted.get("durable", False)
    return made


def describe(got):
    return {
        "body": pair(got.content),
        "content-type": got.content_type,
        "subject": got.subject,
        "durable": bool(got.durable),
        "priority": got.priority,
        "ttl-ms": None if got.ttl is None else int(got.ttl * 1000),
        "redelivered": bool(got.redelivered),
        "message-id": None if got.id is None else str(got.id),
        "user-id": got.user_id,
        "correlation-id": got.correlation_id,
        "reply-to": None if got.reply_to is None else str(got.reply_to),
        "properties": dict((key, pair(item)) for key, item in got.properties.items()),
    }


def send(session, options):
    """Each when the last is confirmed; or, with a window, so many ahead."""
    sender = session.sender(str(options["address"]))
    if "window" in options:
        sender.capacity = int(options["window"])
    for line in sys.stdin.readlines():
        sender.send(message(json.loads(line)), sync="window" not in options)
        say(event="sent")
    sender.sync()


def receive(session, options):
    receiver = session.receiver(str(options["address"]))
    count = int(options.get("count", 1))
    receiver.capacity = min(count, 100)
    session.sync()
    say(event="ready")
    for _ in range(count):
        try:
            got = receiver.fetch(timeout=float(options.get("timeout-ms", 180000)) / 1000)
        except Empty:
            say(event="timeout")
            break
        say(event="received", **describe(got))
        if options.get("ack", "auto") == "auto":
            session.acknowledge(got)


def request(session, options):
    replies = session.receiver("#; {create: always, delete: always}")
    sender = session.sender(str(options["address"]))
    for line in sys.stdin.readlines():
        asked = message(json.loads(line))
        asked.reply_to = replies.source
        sender.send(asked, sync=True)
        say(event="sent", **{"message-id": str(asked.id)})
        got = replies.fetch(timeout=float(options.get("timeout-ms", 180000)) / 1000)
        say(event="received", **describe(got))


def respond(session, options):
    receiver = session.receiver(str(options["address"]))
    session.sync()
    say(event="ready")
    for _ in range(int(options.get("count", 1))):
        got = receiver.fetch(timeout=float(options.get("timeout-ms", 180000)) / 1000)
        say(event="received", **describe(got))
        reply = Message(got.content, correlation_id=got.correlation_id or str(got.id))
        session.sender(got.reply_to).send(reply, sync=True)
        session.acknowledge(got)
        say(event="sent")


def forward(session, options):
    receiver = session.receiver(str(options["address"]))
    sender = session.sender(str(options["to"]))
    for _ in range(int(options.get("count", 1))):
        got = receiver.fetch(timeout=float(options.get("timeout-ms", 180000)) / 1000)
        # the client shows the key that a message came by, which is not one of its properties
        del got.properties["x-amqp-0-10.routing-key"]
        sender.send(got, sync=True)
        session.acknowledge(got)
        say(event="sent")


def end(session, options):
    if options.get("ack") == "none":
        return
    if session.transactional and options.get("end") == "rollback":
        session.rollback()
        say(event="rolled-back")
        return
    session.acknowledge()
    if session.transactional:
        session.commit()
        say(event="committed")


REDIRECTS = []


def note_redirect(engine, redirect):
    """What the client lacks: it decodes the control, but has no handler for it."""
    known = redirect.known_hosts or []
    say(event="redirected", host=redirect.host, **{"known-hosts": list(known)})
    REDIRECTS.append(redirect.host[len("amqp:tcp:") :])
    engine.close(ConnectError(text="redirected"))


def connect(host, port, options):
    return Connection.establish(
        host=host,
        port=int(port),
        username=options.get("user"),
        password=options.get("password"),
        sasl_mechanisms="PLAIN" if "user" in options else "ANONYMOUS",
        heartbeat=int(options["heartbeat-s"]) if "heartbeat-s" in options else None,
        reconnect="reconnect" in options,
        reconnect_interval=0.2,
    )


def follow(options):
    driver.Engine.do_connection_redirect = note_redirect
    try:
        return connect("127.0.0.1", options["port"], options)
    except ConnectError:
        host, port = REDIRECTS.pop().rsplit(":", 1)
        return connect(host, port, options)


def main():
    verb = sys.argv[1]
    options = dict(zip([name[2:] for name in sys.argv[2::2]], sys.argv[3::2]))  # noqa: B905 - Python 2.7
    connection = (
        follow(options) if "follow" in options else connect("127.0.0.1", options["port"], options)
    )
    verbs = {
        "send": send,
        "receive": receive,
        "request": request,
        "respond": respond,
        "forward": forward,
    }
    try:
        session = connection.session(transactional="transacted" in options)
        verbs[verb](session, options)
        end(session, options)
    finally:
        connection.close()
        say(event="closed")


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # the test reads the reason, whatever it is
        say(event="error", **{"class": type(error).__name__, "text": str(error)})
        sys.exit(1)
