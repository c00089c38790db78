from support.bridge_world import Producer
from support.upstream_relays import publish, world


def test_an_address_that_gives_no_credit_for_long_is_told_of_until_it_does():
    w = world(attach_timeout_ms=5_000)
    told = []

    def listen():
        told.append((w.upstream.health.last_error, w.upstream.health.solved))

    broker = w.connect(credit=1)
    w.upstream.health.on_change = listen
    for _ in range(2):
        publish(w, b"a", b"b", publisher=Producer())
        w.pass_time(4_999)
        assert told == []
        w.pass_time(1)
        problem = "no credit from 'q' for 5 s; publishers to it wait"
        assert told == [(problem, "")]
        link = broker.link("q", sends=False)
        link.send_flow(credit=5)
        w.step()
        assert told == [(problem, ""), ("", problem)]
        told.clear()
        link.send_flow(credit=1)
        w.step()
        for each in broker.received():
            broker.settle(each)
        w.step()
        assert w.upstream.next_deadline() is None


def test_no_credit_is_no_news_where_nothing_waits():
    w = world(attach_timeout_ms=5_000)
    broker = w.connect(credit=1)
    publish(w, b"a", publisher=Producer())
    w.pass_time(10_000)
    assert w.upstream.health.last_error == ""
    assert len(broker.received()) == 1
