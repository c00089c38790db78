"""Certificates of an authority that lives as long as a test."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority:
    """Makes certificates, in a directory."""

    def __init__(
        self,
        directory: pathlib.Path,
        name: str = "authority",
        *,
        key: Key | None = None,
        above: Authority | None = None,
    ) -> None:
        """`above`: whose certificate for it is shown with what it issues."""
        self.directory = directory
        self._shown = b""  # with each that it issues: its own, and those above it
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = directory / ("ca.pem" if above is None else f"{name}.ca.pem")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        issuer = above or self
        made = issuer._builder(self._name, self._key).add_extension(constraints, critical=True)
        issuer._write(self.ca, made)
        if above is not None:
            self._shown = self.ca.read_bytes()

    def issue(
        self,
        name: str,
        *more: str,
        lasts: datetime.timedelta = DAY,
        host: str = "",
        key: Key | None = None,
    ) -> tuple[pathlib.Path, pathlib.Path]:
        """A certificate for `host` or 127.0.0.1, and its key; `lasts` from now, or till before.

        `more`: common names beside `name`.
        """
        key = key or ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in (name, *more)]
        subject = x509.Name(names)
        here: x509.GeneralName = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        who = x509.SubjectAlternativeName([x509.DNSName(host) if host else here])
        certificate, key_file = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        made = self._builder(subject, key, lasts).add_extension(who, critical=False)
        self._write(certificate, made)
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, key_file

    def revoke(self, *certificates: pathlib.Path) -> pathlib.Path:
        """A list that revokes them, and the file that it is in."""
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateRevocationListBuilder(
            self._name, last_update=now - DAY, next_update=now + DAY
        )
        for path in certificates:
            number = x509.load_pem_x509_certificate(path.read_bytes()).serial_number
            revoked = x509.RevokedCertificateBuilder(number, now - DAY).build()
            builder = builder.add_revoked_certificate(revoked)
        made = self.directory / "revoked.pem"
        signed = builder.sign(self._key, hashes.SHA256())
        made.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        return made

    def _builder(
        self,
        subject: x509.Name,
        key: Key,
        lasts: datetime.timedelta = DAY,
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + lasts)
        )

    def _write(self, path: pathlib.Path, builder: x509.CertificateBuilder) -> None:
        signed = builder.sign(self._key, hashes.SHA256())
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + self._shown)
