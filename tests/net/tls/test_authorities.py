"""Authorities of clients that let nobody in: each is told, and why."""

import datetime
import pathlib

import pytest
from cryptography import x509
from support.certificates import DAY, Authority

from gateway.net.tls.authorities import useless


class Issuing(Authority):
    """One that another has issued."""

    def __init__(
        self, directory: pathlib.Path, above: Authority, lasts: datetime.timedelta = DAY
    ) -> None:
        directory.mkdir()
        super().__init__(directory, directory.name)
        certify(self, above, lasts)


def certify(authority: Authority, by: Authority, lasts: datetime.timedelta) -> None:
    """Its certificate is another one from now on."""
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    made = by._builder(authority._name, authority._key, lasts)
    by._write(authority.ca, made.add_extension(constraints, critical=True))


def bundle(directory: pathlib.Path, *authorities: Authority) -> pathlib.Path:
    made = directory / "bundle.pem"
    made.write_bytes(b"".join(each.ca.read_bytes() for each in authorities))
    return made


def test_one_that_is_signed_by_itself_or_has_all_above_it_lets_clients_in(
    tmp_path: pathlib.Path,
) -> None:
    root = Authority(tmp_path, "root")
    issuing = Issuing(tmp_path / "issuing", root)
    assert useless(bundle(tmp_path, root)) == []
    assert useless(bundle(tmp_path, issuing, root)) == []


def test_an_issuing_one_alone_lets_nobody_in(tmp_path: pathlib.Path) -> None:
    root, other = Authority(tmp_path, "root"), Authority(tmp_path, "other")
    issuing = Issuing(tmp_path / "issuing", root)
    below = Issuing(tmp_path / "below", issuing)
    told = "'issuing' lets no client in: add the authority that issued it, 'CN=root'"
    assert useless(bundle(tmp_path, issuing)) == [told]
    assert useless(bundle(tmp_path, other, issuing)) == [told]
    assert useless(bundle(tmp_path, below, issuing)) == [told.replace("issuing", "below", 1), told]


def test_one_that_has_expired_or_whose_authority_has_lets_nobody_in(tmp_path: pathlib.Path) -> None:
    root = Authority(tmp_path, "root")
    expired = Issuing(tmp_path / "issuing", root, -DAY)
    assert useless(bundle(tmp_path, root, expired)) == [
        "'issuing' lets no client in: it has expired"
    ]
    certify(root, root, -DAY)
    issuing = Issuing(tmp_path / "below", root)
    assert useless(bundle(tmp_path, issuing, root)) == [
        "'below' lets no client in: 'root' has expired",
        "'root' lets no client in: it has expired",
    ]


@pytest.mark.parametrize("text", [None, "", "no pem"])
def test_a_file_that_cannot_be_read_is_for_others_to_tell(
    text: str | None, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    assert useless(file) == []
