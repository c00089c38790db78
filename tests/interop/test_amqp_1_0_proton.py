"""Proton's client against a whole gateway: the 1.0 face as deployed clients see it."""

import uuid

import pytest
from support.serve_1_0 import Serving

proton = pytest.importorskip(
    "proton", reason="python-qpid-proton is missing: pip install python-qpid-proton"
)
from proton.handlers import MessagingHandler  # noqa: E402
from proton.reactor import (  # noqa: E402
    AtLeastOnce,
    AtMostOnce,
    Container,
    Copy,
    DynamicNodeProperties,
    Filter,
    LinkOption,
    ReceiverOption,
)
from proton.utils import BlockingConnection, LinkDetached  # noqa: E402

TIMEOUT_S = 180


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    serving = Serving(tmp_path_factory.mktemp("data"))
    yield serving
    assert serving.stop() == 0


@pytest.fixture
def connection(gateway):
    connection = BlockingConnection(f"127.0.0.1:{gateway.port}", timeout=TIMEOUT_S)
    yield connection
    connection.close()


BODIES = [
    "text \u20ac",
    b"octets",
    b"x" * 300_000,
    12,
    -(2**62),
    1.5,
    True,
    None,
    uuid.UUID(int=7),
    [1, "two", None],
    {"a": 1, "b": [1, 2], "c": {"d": b"e"}},
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_message_comes_back_as_it_was(connection, body):
    sent = proton.Message(
        body=body,
        id="one",
        subject="s",
        correlation_id=5,
        reply_to="q",
        priority=7,
        durable=True,
        properties={"int": 1, "text": "t", "flag": False, "uuid": uuid.UUID(int=1)},
        annotations={proton.symbol("x-opt-a"): "b"},
    )
    receiver = connection.create_receiver("q")
    connection.create_sender("q").send(sent)
    got = receiver.receive(timeout=TIMEOUT_S)
    receiver.accept()
    receiver.close()
    for field in (
        "body", "id", "subject", "correlation_id", "reply_to", "priority", "durable",
        "properties", "annotations",
    ):  # fmt: skip
        assert getattr(got, field) == getattr(sent, field), field
    assert got.first_acquirer


def test_a_batch_of_another_client_comes_as_its_messages(gateway, connection, rhea):
    bodies = [["string", "one"], ["data", "00ff"], ["map", {"x": ["boolean", True]}]]
    messages = [{"body": body, "subject": body[0]} for body in bodies]
    [sent] = rhea.run("send", gateway.port, messages, address="q", batch="yes").sent
    assert sent["outcome"] == "accepted"
    receiver = connection.create_receiver("q", credit=3)
    got = [receiver.receive(timeout=TIMEOUT_S) for _ in bodies]
    for _ in got:
        receiver.accept()
    receiver.close()
    assert [message.body for message in got] == ["one", b"\x00\xff", {"x": True}]
    assert [message.subject for message in got] == ["string", "data", "map"]


def test_a_released_message_is_seen_again_and_a_failed_one_is_counted(connection):
    connection.create_sender("durable").send(proton.Message(body="m", durable=True))
    receiver = connection.create_receiver("durable", credit=1)
    assert receiver.receive(timeout=TIMEOUT_S).delivery_count == 0
    receiver.release(delivered=False)
    assert receiver.receive(timeout=TIMEOUT_S).delivery_count == 0
    receiver.fetcher.unsettled[0].local.failed = True
    receiver.settle(proton.Delivery.MODIFIED)
    assert receiver.receive(timeout=TIMEOUT_S).delivery_count == 1
    receiver.accept()
    receiver.close()


def test_an_unknown_address_is_refused_by_name(connection):
    with pytest.raises(LinkDetached, match="not-found"):
        connection.create_receiver("nowhere")
    with pytest.raises(LinkDetached, match="not-found"):
        connection.create_sender("nowhere")


def test_a_browser_leaves_the_queue_as_it_is(connection):
    connection.create_sender("q").send(proton.Message(body="stays"))
    browser = connection.create_receiver("q", options=Copy())
    assert browser.receive(timeout=TIMEOUT_S).body == "stays"
    browser.accept()
    browser.close()
    receiver = connection.create_receiver("q")
    assert receiver.receive(timeout=TIMEOUT_S).body == "stays"
    receiver.accept()
    receiver.close()


class TopicFilter(Filter):
    def __init__(self, pattern):
        described = proton.Described(
            proton.symbol("apache.org:legacy-amqp-topic-binding:string"), pattern
        )
        super().__init__({proton.symbol("pattern"): described})


def test_a_topic_pattern_selects_by_subject(connection):
    receiver = connection.create_receiver("amq.topic", credit=10, options=TopicFilter("a.#"))
    sender = connection.create_sender("amq.topic")
    for subject in ("a.b", "b", "a"):
        sender.send(proton.Message(body=subject, subject=subject))
    got = {receiver.receive(timeout=TIMEOUT_S).body for _ in range(2)}
    receiver.accept()
    receiver.accept()
    assert got == {"a.b", "a"}
    receiver.close()


class Selector(ReceiverOption):
    def __init__(self, text):
        self.text = text

    def apply(self, receiver):
        filters = receiver.source.filter
        filters.put_dict(
            {
                proton.symbol("selector"): proton.Described(
                    proton.symbol("apache.org:selector-filter:string"), self.text
                )
            }
        )


def test_a_selector_is_applied_and_echoed(connection):
    address = f"selected-{uuid.uuid4().hex[:8]}"
    replies = connection.create_receiver(None, dynamic=True, name=address)
    node = replies.link.remote_source.address
    receiver = connection.create_receiver(node, options=Selector("a = 1 AND JMSType LIKE 's_'"))
    filters = receiver.link.remote_source.filter
    filters.rewind()
    filters.next()
    assert list(filters.get_dict()) == ["selector"]
    sender = connection.create_sender(node)
    for number, subject in ((2, "s1"), (1, "t1"), (1, "s2")):
        sender.send(proton.Message(body=subject, subject=subject, properties={"a": number}))
    assert receiver.receive(timeout=TIMEOUT_S).body == "s2"
    receiver.accept()
    receiver.close()


def test_what_is_no_selector_is_refused(connection):
    with pytest.raises(LinkDetached, match=r"invalid-field.*at character 4"):
        connection.create_receiver("q", options=Selector("a ="))


def test_request_and_response_by_a_dynamic_node(connection):
    replies = connection.create_receiver(None, dynamic=True, credit=1)
    address = replies.link.remote_source.address
    connection.create_sender("q").send(proton.Message(body="ask", reply_to=address))
    requests = connection.create_receiver("q")
    request = requests.receive(timeout=TIMEOUT_S)
    requests.accept()
    connection.create_sender(None).send(proton.Message(address=request.reply_to, body="answer"))
    assert replies.receive(timeout=TIMEOUT_S).body == "answer"
    replies.accept()
    replies.close()
    with pytest.raises(LinkDetached, match="not-found"):
        connection.create_sender(address)
    requests.close()


def test_a_dynamic_node_may_ask_for_its_lifetime(connection):
    keep = DynamicNodeProperties({"lifetime-policy": proton.Described(proton.ulong(0x2C), [])})
    made = connection.create_receiver(None, dynamic=True, options=keep)
    address = made.link.remote_source.address
    sender = connection.create_sender(address)
    made.close()
    sender.send(proton.Message(body="still there"))
    receiver = connection.create_receiver(address)
    assert receiver.receive(timeout=TIMEOUT_S).body == "still there"
    receiver.accept()
    receiver.close()


def test_unroutable_messages_are_rejected_by_a_direct_exchange(connection):
    sender = connection.create_sender("amq.direct")
    with pytest.raises(proton.utils.SendException):
        sender.send(proton.Message(subject="nobody"))
    connection.create_sender("amq.topic").send(proton.Message(subject="nobody"))


class Flood(MessagingHandler):
    """Sends as credit allows, receives on another link, settles in batches."""

    def __init__(self, url, count, options):
        super().__init__(prefetch=100)
        self.url, self.count, self.options = url, count, options
        self.sent = self.confirmed = 0
        self.received = []

    def on_start(self, event):
        connection = event.container.connect(self.url, heartbeat=0.5)
        event.container.create_receiver(connection, "durable")
        self.sender = event.container.create_sender(connection, "durable", options=self.options)

    def on_sendable(self, event):
        while event.sender.credit and self.sent < self.count:
            event.sender.send(proton.Message(body=self.sent, durable=True))
            self.sent += 1

    def on_accepted(self, event):
        self.confirmed += 1
        self.check(event)

    def on_message(self, event):
        self.received.append(event.message.body)
        self.check(event)

    def check(self, event):
        settled = self.sender.snd_settle_mode == proton.Link.SND_SETTLED
        if len(self.received) == self.count and (settled or self.confirmed == self.count):
            event.connection.close()


@pytest.mark.parametrize("options", [AtLeastOnce(), AtMostOnce()], ids=["unsettled", "settled"])
def test_thousands_of_durable_messages_arrive_in_order(gateway, options):
    flood = Flood(f"127.0.0.1:{gateway.port}", 3000, options)
    Container(flood).run()
    assert flood.received == list(range(3000))


class Idle(MessagingHandler):
    """Does nothing for a while, wanting a frame every second."""

    def __init__(self, url):
        super().__init__()
        self.url = url
        self.error = None

    def on_start(self, event):
        event.container.connect(self.url, heartbeat=1.0, reconnect=False)
        event.container.schedule(3.5, self)

    def on_timer_task(self, event):
        event.container.stop()

    def on_transport_error(self, event):
        self.error = event.transport.condition


def test_an_idle_connection_is_kept_alive(gateway):
    idle = Idle(f"127.0.0.1:{gateway.port}")
    Container(idle).run()
    assert idle.error is None


class Lasting(ReceiverOption):
    """A source whose unsettled deliveries outlive the link."""

    def apply(self, receiver):
        receiver.source.timeout = 30
        receiver.source.expiry_policy = proton.Terminus.EXPIRE_WITH_SESSION


def lasting(gateway):
    """A connection of one container, and its receiver, whose link always has the same name."""
    container = Container()
    container.container_id = "lasting"
    connection = BlockingConnection(
        f"127.0.0.1:{gateway.port}", timeout=TIMEOUT_S, container=container
    )
    return connection, connection.create_receiver("q", name="lasting", options=[Lasting()])


def test_what_is_unsettled_waits_for_who_attaches_again_as_another_delivery(gateway, connection):
    connection.create_sender("q").send(proton.Message(body="kept"))
    first, receiver = lasting(gateway)
    assert receiver.link.remote_source.timeout == 30
    assert receiver.receive(timeout=TIMEOUT_S).body == "kept"
    receiver.link.detach()
    first.close()
    other = connection.create_receiver("q")
    with pytest.raises(proton.Timeout):
        other.receive(timeout=1)
    other.close()
    second, receiver = lasting(gateway)
    # Proton knows of no deliveries of links that were before: it says so, and it comes anew.
    message = receiver.receive(timeout=TIMEOUT_S)
    assert (message.body, message.delivery_count) == ("kept", 1)
    receiver.accept()
    second.close()


class LastingLink(LinkOption):
    """The terminus of the link is to outlive it for a minute."""

    def apply(self, link):
        (link.target if link.is_sender else link.source).timeout = 60


def test_a_client_that_is_back_before_it_was_missed_has_its_links(gateway):
    """Proton sends no map of what is unsettled: it gets back what it had, and is heard."""

    def connect():
        container = Container()
        container.container_id = "back"
        return BlockingConnection(
            f"127.0.0.1:{gateway.port}", timeout=TIMEOUT_S, container=container
        )

    before = connect()
    sender = before.create_sender("q", name="out", options=LastingLink())
    before.create_receiver("q", name="in", options=LastingLink(), credit=1)
    assert sender.link.remote_target.timeout == 60
    sender.send(proton.Message(body="one"))
    again = connect()
    again.create_sender("q", name="out", options=LastingLink()).send(proton.Message(body="two"))
    receiver = again.create_receiver("q", name="in", options=LastingLink(), credit=10)
    got = []
    for _ in range(2):
        got.append(receiver.receive(timeout=TIMEOUT_S).body)
        receiver.accept()
    assert got == ["one", "two"]
    with pytest.raises(LinkDetached, match="amqp:link:stolen"):
        sender.send(proton.Message(body="three"))
    again.close()
    before.close()
