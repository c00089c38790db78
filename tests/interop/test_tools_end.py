"""`send` and `receive` as processes: a server that never answers, signals, files of no use."""

from __future__ import annotations

import pathlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

TOOLS = [["send", "--to", "q"], ["receive", "--from", "q"]]


@pytest.fixture
def deaf() -> Iterator[socket.socket]:
    """Takes connections, and that is all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def started(server: socket.socket, *arguments: str) -> subprocess.Popen[str]:
    port = str(server.getsockname()[1])
    command = [sys.executable, "-m", "gateway", *arguments, "--port", port]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
@pytest.mark.parametrize("tool", TOOLS, ids=["send", "receive"])
def test_where_nobody_answers_it_ends_in_time(
    deaf: socket.socket, tool: list[str], protocol: str
) -> None:
    process = started(deaf, *tool, "--timeout", "0.5", "--protocol", protocol)
    said, error = process.communicate(timeout=180)
    port = deaf.getsockname()[1]
    assert (process.returncode, said) == (1, "")
    assert error == f"amqp-gateway: 127.0.0.1:{port}: no answer within 0.5 s\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("tool", TOOLS, ids=["send", "receive"])
def test_a_signal_ends_it_without_a_word_of_its_inside(
    deaf: socket.socket, tool: list[str], number: signal.Signals
) -> None:
    process = started(deaf, *tool, "--timeout", "60")
    connection, _ = deaf.accept()
    with connection:
        assert connection.recv(8)  # it runs
        process.send_signal(number)
        said, error = process.communicate(timeout=180)
    assert (process.returncode, said, error) == (1, "", "amqp-gateway: interrupted\n")


@pytest.mark.parametrize("content", [None, "no pem", "-----BEGIN CERTIFICATE-----\n!"])
def test_an_authority_that_cannot_be_used_is_one_line(
    deaf: socket.socket, tmp_path: pathlib.Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    process = started(deaf, "send", "--to", "q", "--tls-ca", str(file))
    _, error = process.communicate(timeout=180)
    assert process.returncode == 1
    assert error in (
        f"amqp-gateway: cannot read {file}: No such file or directory\n",
        f"amqp-gateway: {file} is no PEM file with a certificate\n",
    )
