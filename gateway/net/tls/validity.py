"""From when till when the certificate that clients are shown is good, and all above it in its file.

Nothing of a file that cannot be read: others tell.
"""

from __future__ import annotations

import contextlib
import datetime
import pathlib
from typing import Final

from cryptography import x509
from OpenSSL import crypto

from gateway.files.whole import CERTIFICATES_MAX, read_regular
from gateway.net.tls.files import name_in

NO_TIME: Final = 0.0


def expires_s(path: pathlib.Path) -> float:
    """When the first of them expires, as Unix time; `NO_TIME`: there is none."""
    return min((each.not_valid_after_utc.timestamp() for each in _listed(path)), default=NO_TIME)


def out_of_date(path: pathlib.Path, now_s: float) -> list[str]:
    """A line for each that clients do not take at a moment."""
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    lines: list[str] = []
    for each in _listed(path):
        name = name_in(crypto.X509.from_cryptography(each))
        if now > each.not_valid_after_utc:
            told = f"has expired ({each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC)"
        elif now < each.not_valid_before_utc:
            told = f"is not valid yet (from {each.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on)"
        else:
            continue
        lines.append(f"{name!r} {told}: clients that check it do not connect")
    return lines


def _listed(path: pathlib.Path) -> list[x509.Certificate]:
    with contextlib.suppress(OSError, ValueError):
        return x509.load_pem_x509_certificates(read_regular(path, CERTIFICATES_MAX))
    return []
