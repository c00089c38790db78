"""The installer of the foreign peers."""

import subprocess
import sys
from pathlib import Path

import pytest
from interop import installed

INSTALL = installed.HERE / "install"


def install(*arguments: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, INSTALL, *arguments],
        env={"GATEWAY_INTEROP_CACHE": str(cache), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_peer_can_be_named(tmp_path: Path) -> None:
    text = install("--help", cache=tmp_path).stdout
    assert all(peer in text for peer in installed.PEERS)


def test_an_unknown_peer_is_refused(tmp_path: Path) -> None:
    assert install("no-such-peer", cache=tmp_path).returncode == 2


def test_a_peer_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for jar in installed.JAR_DIGESTS:
        (tmp_path / "jars" / jar).touch()
    run = install("jms", cache=tmp_path)
    # java is not on that PATH: it is named, and the jars are not
    assert "no java, javac on this machine" in run.stdout
    assert ".jar" not in run.stdout


@pytest.mark.parametrize("peer", installed.PEERS)
def test_what_is_missing_is_said_in_words_or_nothing_is(peer: str) -> None:
    lacking = installed.missing(peer)
    assert lacking is None or len(lacking.split()) > 2
