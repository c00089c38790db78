"""What is kept of attaches is what they take: who is refused leaves nothing, and fills nothing."""

from support.bridge_world import Session
from support.face_1_0 import Hub
from support.frames_1_0 import octets_of
from support.remote_1_0 import Remote
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.link import LINK_OCTETS
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

MIB = 1024 * 1024
LINK = LINK_OCTETS + 500  # with its name, and what any filter takes


def selector(text: str) -> dict[str, Tagged]:
    descriptor = Tagged(types.SYMBOL, _spec.SELECTOR_FILTER)
    described = types.Described(descriptor, Tagged(types.STRING, text))
    return {"s": Tagged(types.DESCRIBED, described)}


def long(characters: int) -> str:
    return f"s = '{'a' * (characters - 6)}'"


def with_queue() -> Hub:
    hub = Hub(limits=Limits())
    hub.host.declaring.declare_queue("q", QueueSettings(), Session(900))
    return hub


def test_nothing_is_kept_of_an_attach_that_is_refused_until_the_peer_has_detached() -> None:
    hub = with_queue()
    client = hub.client()
    account = client.face.client.account
    session = client.session()
    before = account.held
    attach = _spec.Attach(
        name="l",
        handle=0,
        role=_spec.RECEIVER,
        source=_spec.Source(address="q", filter=selector(long(60_000))),
        target=_spec.Target(),
    )
    client.face.receive_data(octets_of(attach, channel=session.channel_out), 0)
    client.face.data_to_send()
    assert before < account.held <= before + LINK
    detach = _spec.Detach(handle=0, closed=True)
    client.face.receive_data(octets_of(detach, channel=session.channel_out), 0)
    client.face.data_to_send()
    assert account.held == before


def test_a_selector_is_on_the_account_with_what_it_takes_as_long_as_its_link_lives() -> None:
    hub = with_queue()
    client = hub.client()
    account = client.face.client.account
    session = client.session()
    before = account.held
    source = _spec.Source(address="q", filter=selector(long(16_384)))
    link = client.attach(_spec.RECEIVER, session=session, source=source)
    assert link.attached
    assert before + 2 * 16_384 < account.held <= before + LINK + 3 * 16_384
    link.send_detach()
    client.step()
    assert account.held == before


def test_two_users_with_long_selectors_do_not_fill_their_virtual_host() -> None:
    hub = with_queue()
    host = hub.settings.accounts.host(hub.host.name)
    for at in range(10):
        client = hub.client(user=(f"m{at % 2}", "own"))
        session = client.session()
        for _ in range(32):
            source = _spec.Source(address="q", filter=selector(long(50_000)))
            client.attach(_spec.RECEIVER, session=session, source=source)
    assert 0 < host.held < 4 * MIB


def test_an_attach_that_waits_for_an_upstream_is_priced_by_what_its_termini_take() -> None:
    remote = Remote()
    account = remote.client.face.client.account
    before = account.held
    link = remote.asks(filter=selector(long(16_000)))
    waiting = account.held - before
    assert 3 * 16_000 < waiting < 8 * 16_000
    remote.inlet.on_attached()
    remote.client.step()
    assert link.attached
    assert 16_000 < account.held - before < 3 * 16_000


def test_and_is_forgotten_when_that_refuses_it() -> None:
    remote = Remote()
    account = remote.client.face.client.account
    before = account.held
    remote.asks(filter=selector(long(16_000)))
    remote.inlet.on_refused(Condition.UNAUTHORIZED_ACCESS, "not you")
    remote.client.face.data_to_send()
    assert account.held - before < 8192 + LINK


def test_an_unfinished_delivery_with_a_small_state_takes_little() -> None:
    hub = with_queue()
    client = hub.client()
    account = client.face.client.account
    sender = client.sender("q")
    before = account.held
    transfer = _spec.Transfer(
        handle=sender.handle_out,
        delivery_id=0,
        delivery_tag=b"t",
        more=True,
        state=_spec.Modified(delivery_failed=True),
    )
    channel = sender.session.channel_out
    client.face.receive_data(octets_of(transfer, channel=channel, payload=b"x"), 0)
    kept = account.held - before
    assert 0 < kept < 500
    transfer = _spec.Transfer(handle=sender.handle_out, more=True, state=transfer.state)
    for _ in range(10):
        client.face.receive_data(octets_of(transfer, channel=channel, payload=b"x"), 0)
    assert account.held - before == kept + 10


def test_a_selector_of_0_10_is_on_the_account_with_what_it_takes() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    account = client.face.client.account
    before = account.held
    arguments = [("qpid.jms-selector", Tagged(STR16, long(16_384)))]
    arguments += [("x-apache-selector", Tagged(STR16, long(16_384)))]
    client.does(spec.MessageSubscribe(queue="q", destination="d", arguments=arguments))
    assert before + 2 * 16_384 < account.held < before + 3 * 16_384 + 8192
