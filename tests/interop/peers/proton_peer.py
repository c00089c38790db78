"""A 1.0 client made of Qpid Proton, driven by a test from its own process.

Verbs send, receive, request, respond and forward; options as ``--name value``; messages as JSON
lines on standard input, what happened as JSON lines on standard output (proton_values says how).
"""

import json
import sys
from typing import Any

import proton
import proton_values
from proton.handlers import MessagingHandler
from proton.reactor import Container, Copy, Filter, LinkOption

_OUTCOMES = {
    proton.Delivery.ACCEPTED: "accepted",
    proton.Delivery.REJECTED: "rejected",
    proton.Delivery.RELEASED: "released",
    proton.Delivery.MODIFIED: "modified",
}


def say(**line: object) -> None:
    print(json.dumps({name.replace("_", "-"): given for name, given in line.items()}), flush=True)


class _Capabilities(LinkOption):  # type: ignore[misc]  # proton has no type information
    """Asks for a node of one kind: queue or topic."""

    def __init__(self, wanted: str) -> None:
        self._wanted = proton.symbol(wanted)

    def apply(self, link: proton.Link) -> None:
        terminus = link.source if link.is_receiver else link.target
        terminus.capabilities.put_array(False, proton.Data.SYMBOL)
        terminus.capabilities.enter()
        terminus.capabilities.put_symbol(self._wanted)
        terminus.capabilities.exit()


class Peer(MessagingHandler):  # type: ignore[misc]  # proton has no type information
    """What the verbs share: the connection, errors, the time limit."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=True, peer_close_is_error=True)
        self.options = options
        self.failed = False
        self.connection: Any = None
        self.timer: Any = None

    def on_start(self, event: proton.Event) -> None:
        options = self.options
        mechanism = "PLAIN" if "user" in options else "ANONYMOUS"
        self.connection = event.container.connect(
            f"amqp://127.0.0.1:{options['port']}",
            user=options.get("user"),
            password=options.get("password"),
            allowed_mechs=options.get("mechanism", mechanism),
            reconnect=None if "reconnect" in options else False,  # as it does by itself
            heartbeat=float(options["heartbeat-s"]) if "heartbeat-s" in options else None,
            virtual_host=options.get("virtual-host", "127.0.0.1"),
        )
        self.timer = event.container.schedule(int(options.get("timeout-ms", "180000")) / 1000, self)
        self.open(event.container)

    def open(self, container: Container) -> None:
        raise AssertionError("a verb opens its link")

    def link_options(self) -> list[LinkOption]:
        options: list[LinkOption] = []
        if "capability" in self.options:
            options.append(_Capabilities(self.options["capability"]))
        if "browse" in self.options:
            options.append(Copy())
        if "filters" in self.options:  # {name: [descriptor, pair]}
            filters = json.loads(self.options["filters"])
            options.append(
                Filter(
                    {
                        proton.symbol(name): proton.Described(
                            proton.symbol(descriptor), proton_values.value(pair)
                        )
                        for name, (descriptor, pair) in filters.items()
                    }
                )
            )
        return options

    def end(self) -> None:
        self.timer.cancel()
        self.connection.close()

    def on_timer_task(self, event: proton.Event) -> None:
        say(event="timeout")
        self.connection.close()

    def on_connection_closed(self, event: proton.Event) -> None:
        say(event="closed")

    def on_transport_error(self, event: proton.Event) -> None:
        condition = event.transport.condition
        self._failure("transport", condition)

    def on_connection_error(self, event: proton.Event) -> None:
        self._failure("connection", event.connection.remote_condition)

    def on_session_error(self, event: proton.Event) -> None:
        self._failure("session", event.session.remote_condition)

    def on_link_error(self, event: proton.Event) -> None:
        self._failure("link", event.link.remote_condition)

    def _failure(self, scope: str, condition: Any) -> None:
        if "reconnect" in self.options:
            return
        self.failed = True
        name, text = (condition.name, condition.description) if condition else ("", "")
        say(event="error", scope=scope, **{"class": name}, text=text)
        self.end()


class Send(Peer):
    """Sends every message of standard input and waits for the outcome of each."""

    def open(self, container: Container) -> None:
        self.waiting = [proton_values.message(json.loads(line)) for line in sys.stdin]
        self.unsettled = len(self.waiting)
        address = self.options.get("address")  # none: the anonymous terminus
        self.sender = container.create_sender(self.connection, address, options=self.link_options())

    def on_sendable(self, event: proton.Event) -> None:
        while self.waiting and self.sender.credit:
            self.sender.send(self.waiting.pop(0))

    def on_settled(self, event: proton.Event) -> None:
        delivery = event.delivery
        condition = delivery.remote.condition
        say(
            event="sent",
            outcome=_OUTCOMES.get(delivery.remote_state, "none"),
            **{"class": condition.name if condition else ""},
            text=condition.description if condition else "",
        )
        self.unsettled -= 1
        if not self.unsettled:
            self.end()


class Receive(Peer):
    """Receives as many messages as it was told to, and gives each the same outcome."""

    def open(self, container: Container) -> None:
        self.wanted = int(self.options.get("count", "1"))
        self.receiver = container.create_receiver(
            self.connection,
            self.options.get("address"),
            name=self.options.get("link-name"),
            dynamic="dynamic" in self.options,
            options=self.link_options(),
        )

    def on_link_opened(self, event: proton.Event) -> None:
        if event.link.is_receiver and event.link.remote_source.address is not None:
            self.receiver.flow(self.wanted)
            say(event="ready", address=event.link.remote_source.address)

    def on_message(self, event: proton.Event) -> None:
        say(event="received", **proton_values.describe(event.message))
        self.settle(event)
        self.wanted -= 1
        if not self.wanted:
            self.receiver.close()
            self.end()

    def settle(self, event: proton.Event) -> None:
        delivery = event.delivery
        outcome = self.options.get("outcome", "accepted")
        if outcome == "modified":
            delivery.local.failed = True
        delivery.update(
            {
                "accepted": proton.Delivery.ACCEPTED,
                "rejected": proton.Delivery.REJECTED,
                "released": proton.Delivery.RELEASED,
                "modified": proton.Delivery.MODIFIED,
            }[outcome]
        )
        delivery.settle()


class Respond(Receive):
    """Sends each request's body back to its reply-to, with its id as correlation-id."""

    def open(self, container: Container) -> None:
        super().open(container)
        self.replies = container.create_sender(self.connection, None)
        self.unsettled = self.wanted

    def on_message(self, event: proton.Event) -> None:
        request = event.message
        say(event="received", **proton_values.describe(request))
        self.settle(event)
        reply = proton.Message(
            body=request.body, inferred=request.inferred, address=request.reply_to
        )
        reply.correlation_id = request.correlation_id or request.id
        reply.content_type = request.content_type
        self.replies.send(reply)

    def on_settled(self, event: proton.Event) -> None:
        if event.link == self.replies:
            say(event="sent", outcome=_OUTCOMES.get(event.delivery.remote_state, "none"))
            self.unsettled -= 1
            if not self.unsettled:
                self.end()


class Request(Peer):
    """Sends each message with a dynamic node as its reply-to, and waits for as many replies."""

    def open(self, container: Container) -> None:
        self.waiting = [proton_values.message(json.loads(line)) for line in sys.stdin]
        self.wanted = len(self.waiting)
        self.replies = container.create_receiver(self.connection, None, dynamic=True)
        self.sender = container.create_sender(self.connection, self.options["address"])

    def on_link_opened(self, event: proton.Event) -> None:
        if event.link == self.replies:
            self.replies.flow(self.wanted)
            self.ask()

    def on_sendable(self, event: proton.Event) -> None:
        self.ask()

    def ask(self) -> None:
        address = self.replies.remote_source.address
        while address and self.waiting and self.sender.credit:
            request = self.waiting.pop(0)
            request.reply_to = address
            self.sender.send(request)

    def on_message(self, event: proton.Event) -> None:
        say(event="received", **proton_values.describe(event.message))
        event.delivery.update(proton.Delivery.ACCEPTED)
        event.delivery.settle()
        self.wanted -= 1
        if not self.wanted:
            self.end()


class Forward(Receive):
    """Sends what it received on to another address, which is all that it changes."""

    def open(self, container: Container) -> None:
        super().open(container)
        self.onward = container.create_sender(self.connection, self.options["to"])
        self.unsettled = self.wanted

    def on_message(self, event: proton.Event) -> None:
        event.message.address = self.options["to"]
        self.onward.send(event.message)
        self.settle(event)

    def on_settled(self, event: proton.Event) -> None:
        if event.link == self.onward:
            say(event="sent", outcome=_OUTCOMES.get(event.delivery.remote_state, "none"))
            self.unsettled -= 1
            if not self.unsettled:
                self.end()


def main(arguments: list[str]) -> int:
    verbs = {
        "send": Send,
        "receive": Receive,
        "request": Request,
        "respond": Respond,
        "forward": Forward,
    }
    options = dict(zip((name[2:] for name in arguments[1::2]), arguments[2::2], strict=True))
    peer = verbs[arguments[0]](options)
    Container(peer).run()
    return int(peer.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
