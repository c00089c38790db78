"""Connections are told apart by products that are known, and by how their users log in."""

import pathlib

import pytest
from support.whole_gateway import WholeGateway

from gateway.net.admin.products import Products, product_of


@pytest.mark.parametrize(
    ("told", "product"),
    [
        ("", "unnamed"),
        ("spout (qpid python client 1.37)", "qpid-python"),
        ("ID:1 (QpidJMS 1.6.0)", "qpid-jms"),
        ("app (qpid 6.3)", "qpid"),
        ("something of our own", "other"),
    ],
)
def test_a_product_is_one_that_is_known_or_other(told: str, product: str) -> None:
    assert product_of(told) == product


def counted(products: Products) -> dict[tuple[str, ...], float]:
    for _ in products.count():
        pass
    return {labels: value for labels, value in products.samples()}


def test_connections_are_counted_until_they_are_gone(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path / "data").start()
    products = Products(whole.service.door)
    assert counted(products) == {}
    old, new = whole.connect_0_10(), whole.connect_1_0()
    for client in (old, new):
        whole.result(client.ready())
    assert counted(products) == {
        ("0-10", "amqp-gateway", "anonymous"): 1,
        ("1.0", "amqp-gateway", "anonymous"): 1,
    }
    (first, _second) = whole.guests
    first.hang_up()
    whole.run()
    assert set(counted(products)) == {("1.0", "amqp-gateway", "anonymous")}
    whole.stop()
