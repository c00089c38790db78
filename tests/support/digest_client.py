"""A client of DIGEST-MD5, as RFC 2831 has it."""

import hashlib


def _hex(octets: bytes) -> bytes:
    return hashlib.md5(octets).hexdigest().encode()


def _encoded(text: str) -> bytes:
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def digest_response(name: str, password: str, /, **changes: str | None) -> bytes:
    """The answer to a challenge, whose nonce is to be given; `None`: a directive is not there."""
    told: dict[str, str | None] = {
        "username": name,
        "realm": "QPID",
        "cnonce": "c\\n",
        "nc": "00000001",
        "qop": "auth",
        "digest-uri": "amqp/localhost",
        "charset": "utf-8",
        "response": "",
        **changes,
    }
    encoding = "iso-8859-1" if told["charset"] is None else "utf-8"
    octets = {key: (value or "").encode(encoding) for key, value in told.items()}
    secret = hashlib.md5(
        b":".join([_encoded(name), _encoded(told["realm"] or ""), _encoded(password)])
    ).digest()
    a1 = [secret, octets["nonce"], octets["cnonce"]]
    if told.get("authzid") is not None:
        a1.append(octets["authzid"])
    said = [octets["nonce"], octets["nc"], octets["cnonce"], b"auth"]
    a2 = _hex(b"AUTHENTICATE:" + octets["digest-uri"])
    if told["response"] == "":
        octets["response"] = _hex(b":".join([_hex(b":".join(a1)), *said, a2]))
    quoted = ("username", "realm", "nonce", "cnonce", "digest-uri", "authzid")
    parts = []
    for key, value in octets.items():
        if key in told and told[key] is None:
            continue
        if key in quoted:
            value = b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        parts.append(key.encode() + b"=" + value)
    return b",".join(parts)
