"""Certificates of an authority that lives as long as a test."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """Makes certificates, in a directory."""

    def __init__(self, directory: pathlib.Path, name: str = "authority") -> None:
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = directory / "ca.pem"
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self._write(self.ca, made)

    def issue(
        self, name: str, *more: str, lasts: datetime.timedelta = DAY, host: str = ""
    ) -> tuple[pathlib.Path, pathlib.Path]:
        """A certificate for `host` or 127.0.0.1, and its key; `lasts` from now, or till before.

        `more`: common names beside `name`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
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
        key: ec.EllipticCurvePrivateKey,
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
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
