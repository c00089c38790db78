import pytest

from gateway.permissions.hosts import among, hosts_of, network, number_of


@pytest.mark.parametrize(
    ("text", "address", "inside"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("::1", "::1", True),
        ("::1", "127.0.0.1", False),
        ("10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("fe80::/10", "fe80::1%eth0", True),
        ("10.0.0.0/8", "no address", False),
    ],
)
def test_a_network_has_its_addresses(text: str, address: str, inside: bool):
    found = network(text)
    assert found is not None
    assert among([found], *number_of(address)) is inside


def test_what_is_no_network_is_none():
    assert network("example.org") is None


@pytest.mark.parametrize(
    ("text", "address", "inside"),
    [
        ("10.0.0.1,10.0.0.9", "10.0.0.9", True),
        ("10.0.0.1,10.0.0.9", "10.0.0.10", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("localhost", "::1", True),
    ],
)
def test_a_range_goes_from_the_first_address_to_the_last(text: str, address: str, inside: bool):
    found = hosts_of(text)
    assert found is not None
    assert among(found, *number_of(address)) is inside


@pytest.mark.parametrize("text", ["example.org", "10.0.0.9,10.0.0.1", "10.0.0.1,::1", "10.0.0.1,"])
def test_what_is_no_range_is_none(text: str):
    assert hosts_of(text) is None
