#!/usr/bin/env python2.7
"""Steps of the Python client of 0-10 (qpid.messaging), and what each comes to. Python 2.7 only.

Reads steps from standard input, a JSON list of a verb and its arguments in each line, which share
one connection and, until the next "session", one session; writes a JSON line about each.

    qpid_addresses.py PORT
"""

import json
import sys

from qpid.messaging import (
    REJECTED,
    RELEASED,
    Connection,
    Disposition,
    Empty,
    Message,
    MessagingError,
)

DISPOSITIONS = {"released": Disposition(RELEASED), "rejected": Disposition(REJECTED)}


def told(got):
    """A message, without what is another each time; no key is the empty one."""
    if not got.properties.get("x-amqp-0-10.routing-key"):
        got.properties.pop("x-amqp-0-10.routing-key", None)
    return {
        "body": got.content,
        "subject": got.subject,
        "durable": got.durable,
        "redelivered": got.redelivered,
        "reply to": None if got.reply_to is None else str(got.reply_to),
        "properties": dict((key, str(item)) for key, item in got.properties.items()),
    }


class Steps:
    """What there is to do; the result is told."""

    def __init__(self, port):
        self.connection = Connection.establish(host="127.0.0.1", port=port)
        self.links = {}
        self.last = None
        self.session()

    def session(self, transactional=False):
        self.now = self.connection.session(transactional=transactional)

    def leave(self):
        """The connection goes, and what was not acknowledged with it; then there is another."""
        self.connection.detach()
        self.connection.attach()

    def sender(self, name, address):
        self.links[name] = self.now.sender(address)

    def receiver(self, name, address):
        self.links[name] = self.now.receiver(address)

    def send(self, name, body, subject=None, durable=None, **properties):
        message = Message(body, subject=subject, durable=durable, properties=properties)
        self.links[name].send(message)

    def fetch(self, name, count=1):
        """So many, as far as they are there."""
        found = []
        for _ in range(count):
            try:
                self.last = self.links[name].fetch(timeout=0)
            except Empty:
                found.append("empty")
                break
            found.append(told(self.last))
        return found

    def reply(self, body):
        """To whom the last message says."""
        self.now.sender(self.last.reply_to).send(Message(body))

    def ask(self, name, answers, body):
        """With the other link as where answers go."""
        self.links[name].send(Message(body, reply_to=self.links[answers].source))

    def acknowledge(self, disposition=None):
        """All that was fetched; or, in some way, the last."""
        if disposition is None:
            self.now.acknowledge()
        else:
            self.now.acknowledge(self.last, DISPOSITIONS[disposition])

    def commit(self):
        self.now.commit()

    def rollback(self):
        self.now.rollback()

    def close(self, name):
        self.links.pop(name).close()

    def end(self):
        """The session is closed, with all of its links."""
        self.now.close()

    def goodbye(self):
        """The connection is closed, with all of its sessions."""
        self.connection.close()


def main(port):
    steps = Steps(port)
    for line in sys.stdin.readlines():
        step = [str(item) if isinstance(item, unicode) else item for item in json.loads(line)]  # noqa: F821
        more = {}
        if isinstance(step[-1], dict):
            more = dict((str(key), item) for key, item in step.pop().items())
        try:
            came = getattr(steps, step[0])(*step[1:], **more)
        except MessagingError as error:
            came = [type(error).__name__, getattr(error, "code", None)]
            if came[1] is None:
                came.append(str(error))
        sys.stdout.write(json.dumps([step, came]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
