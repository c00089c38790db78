"""Certificates that are shown to upstreams: read by a thread, told the next time."""

import pathlib

from support.certificates import DAY, Authority
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import capturedLogs

from gateway.config.upstreams import UpstreamSection
from gateway.net.admin.expiring import Found, UpstreamCertificates
from gateway.net.tls.validity import expires_s


def section(certificate: pathlib.Path | None) -> UpstreamSection:
    told = {"hosts": ["amqps://broker.example"]}
    if certificate is None:
        return UpstreamSection.model_validate(told)
    tls = {"certificate": str(certificate), "key": str(certificate)}
    return UpstreamSection.model_validate(told | {"tls": tls})


def test_what_a_thread_has_read_is_told_the_next_time(tmp_path: pathlib.Path) -> None:
    shown, _key = Authority(tmp_path).issue("gateway", lasts=DAY)
    calls: list[tuple[object, Deferred[Found]]] = []

    def in_thread(call: object) -> Deferred[Found]:
        calls.append((call, Deferred()))
        return calls[-1][1]

    upstreams = {"with": section(shown), "without": section(None)}
    certificates = UpstreamCertificates(lambda: upstreams, in_thread)
    assert certificates.samples() == [(("with",), 0), (("without",), 0)]
    certificates.samples()
    ((call, answer),) = calls
    assert callable(call)
    answer.callback(call())
    assert certificates.samples() == [(("with",), expires_s(shown)), (("without",), 0)]
    assert len(calls) == 2


def test_without_any_no_thread_is_asked() -> None:
    def never(_call: object) -> Deferred[Found]:
        raise AssertionError

    upstreams = {"without": section(None)}
    assert UpstreamCertificates(lambda: upstreams, never).samples() == [(("without",), 0)]


def test_what_breaks_is_told_and_asked_again(tmp_path: pathlib.Path) -> None:
    shown, _key = Authority(tmp_path).issue("gateway", lasts=DAY)
    answers = [fail(RuntimeError("no")), succeed({"u": 7.0})]
    upstreams = {"u": section(shown)}
    certificates = UpstreamCertificates(lambda: upstreams, lambda _call: answers.pop(0))
    with capturedLogs() as events:
        certificates.samples()
    assert [each["log_format"] for each in events] == ["certificates cannot be read"]
    certificates.samples()
    answers.append(Deferred())
    assert certificates.samples() == [(("u",), 7.0)]
