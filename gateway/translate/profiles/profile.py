"""What there is to know of the broker behind an upstream, as a plain value.

`loading` has the help text of each attribute, and reads the files.
"""

from __future__ import annotations

from typing import Final, final

from gateway.translate.profiles.templates import Template, Wildcards

QUEUE: Final = Template("{queue}")
AMQP_0_10: Final = "0-10"  # `protocol`
ANNOTATIONS: Final = "annotations"  # `keys_in`: the broker says the key of each message


@final
class Profile:
    """One kind of broker; the attributes are described in `loading.ATTRIBUTES`."""

    __slots__ = (
        "about",
        "annotations",
        "anonymous_terminus",
        "browse",
        "cbs",
        "credit",
        "detach_lingers",
        "drain",
        "durable_subscription",
        "durable_subscriptions",
        "dynamic_nodes",
        "errors_end_session",
        "escrow",
        "exchange",
        "exchange_capabilities",
        "fanout",
        "fanout_subscription",
        "first_acquirer",
        "forgets_failed",
        "keys_in",
        "management",
        "missing",
        "modified",
        "name",
        "no_local",
        "products",
        "protocol",
        "queue",
        "queue_capabilities",
        "queue_created",
        "resume",
        "selector",
        "settled",
        "shared",
        "subscription",
        "subscription_capabilities",
        "subscriptions",
        "text_body",
        "transactions",
        "undeliverable_here",
        "unroutable",
        "user_id",
        "value_lists",
        "wildcards",
    )

    def __init__(
        self,
        name: str = "generic",
        *,
        about: str = "",
        products: list[str] | None = None,
        queue: Template = QUEUE,
        queue_created: Template | None = None,
        exchange: Template | None = None,
        fanout: Template | None = None,
        subscription: Template | None = None,
        fanout_subscription: Template | None = None,
        durable_subscription: Template | None = None,
        queue_capabilities: list[str] | None = None,
        exchange_capabilities: list[str] | None = None,
        subscription_capabilities: list[str] | None = None,
        subscriptions: str = "none",
        durable_subscriptions: bool = False,
        shared: bool = False,
        wildcards: Wildcards | None = None,
        keys_in: str = "subject",
        browse: str = "copy",
        selector: bool = False,
        settled: bool = True,
        no_local: bool = False,
        credit: str = "any-time",
        drain: bool = True,
        modified: bool = True,
        undeliverable_here: bool = True,
        anonymous_terminus: bool = False,
        dynamic_nodes: bool = False,
        transactions: bool = False,
        unroutable: str = "accepted",
        resume: bool = False,
        annotations: bool = True,
        escrow: bool = True,
        text_body: str = "data",
        cbs: bool = False,
        user_id: bool = True,
        value_lists: bool = True,
        missing: str = "fail",
        errors_end_session: bool = False,
        first_acquirer: bool = False,
        forgets_failed: bool = False,
        management: str = "none",
        detach_lingers: bool = False,
        protocol: str = "1.0",
    ) -> None:
        self.name = name
        self.about = about
        self.products: list[str] = products or []
        self.queue = queue
        self.queue_created = queue_created
        self.exchange = exchange
        self.fanout = fanout
        self.subscription = exchange if subscription is None else subscription
        self.fanout_subscription = fanout if fanout_subscription is None else fanout_subscription
        self.durable_subscription = durable_subscription
        self.queue_capabilities: list[str] = queue_capabilities or []
        self.exchange_capabilities: list[str] = exchange_capabilities or []
        self.subscription_capabilities: list[str] = subscription_capabilities or []
        self.subscriptions = subscriptions
        self.durable_subscriptions = durable_subscriptions
        self.shared = shared
        self.wildcards = wildcards
        self.keys_in = keys_in
        self.browse = browse
        self.selector = selector
        self.settled = settled
        self.no_local = no_local
        self.credit = credit
        self.drain = drain
        self.modified = modified
        self.undeliverable_here = undeliverable_here
        self.anonymous_terminus = anonymous_terminus
        self.dynamic_nodes = dynamic_nodes
        self.transactions = transactions
        self.unroutable = unroutable
        self.resume = resume
        self.annotations = annotations
        self.escrow = escrow
        self.text_body = text_body
        self.cbs = cbs
        self.user_id = user_id
        self.value_lists = value_lists
        self.missing = missing
        self.errors_end_session = errors_end_session
        self.first_acquirer = first_acquirer
        self.forgets_failed = forgets_failed
        self.management = management
        self.detach_lingers = detach_lingers
        self.protocol = protocol

    def queue_address(self, queue: str) -> str:
        """The address of a queue; "" if it has none."""
        return self.queue.make(queue=queue)

    def exchange_address(self, exchange: str, key: str, keyed: bool = True) -> str:
        """Where to send what was published to an exchange with a key; "" if nowhere.

        `keyed`: the key plays a part (direct, topic); not so on fanout and headers exchanges.
        """
        template = self.exchange if keyed else self.fanout
        return "" if template is None else template.make(exchange=exchange, key=key)

    def subscription_address(
        self,
        exchange: str,
        key: str,
        *,
        kind: str = "topic",
        name: str = "",
        durable: bool = False,
    ) -> str:
        """The source of what a binding of an exchange of type `kind` asks for; "" if there is none.

        `name` is that of the queue that is bound. Wildcard words of a topic exchange's key are
        spelled as the broker spells them, or not at all.
        """
        keyed = kind == "topic" or kind == "direct"
        template = self.subscription if keyed else self.fanout_subscription
        if durable and self.durable_subscription is not None:
            template = self.durable_subscription
        if template is None:
            return ""
        wildcards = self.wildcards if kind == "topic" else None
        return template.make(exchange=exchange, key=key, name=name, wildcards=wildcards)
