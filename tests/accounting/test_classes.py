"""What Java has of Spark's classes, from run to run: whose file is taken, and when one is made."""

import os
import subprocess
from pathlib import Path

import pytest
from pyspark import SparkContext

from gateway.accounting import classes
from gateway.accounting.classes import CACHE, KEPT, KEPT_S, QUIET, shared


@pytest.fixture(autouse=True)
def no_session(monkeypatch) -> None:
    """The one that other tests have would be ended."""
    monkeypatch.setattr(SparkContext, "_gateway", None)


@pytest.fixture
def home(tmp_path) -> Path:
    """A Java's."""
    server = tmp_path / "java" / "lib" / "server"
    server.mkdir(parents=True)
    (server / "classes.jsa").touch()
    (server / "libjvm.so").write_text("17")
    return tmp_path / "java"


@pytest.fixture
def jars(tmp_path) -> Path:
    """Spark's."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").touch()
    return tmp_path / "jars"


@pytest.fixture
def cache(tmp_path) -> dict[str, str]:
    return {CACHE: str(tmp_path / "cache")}


def written(new: Path | None) -> Path:
    """The file of a Java that ends in order, with its `new` one."""
    assert new is not None
    new.write_text("classes")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as java:
        classes._ended(java, new)
    assert not new.exists()
    [path] = new.parent.glob("*.jsa")
    return path


def test_the_first_java_writes_what_the_next_one_has(home, jars, cache):
    first = shared(home, jars, cache)
    assert first.option == f"{QUIET} -XX:ArchiveClassesAtExit={first.new}"
    path = written(first.new)
    assert shared(home, jars, cache) == (f"{QUIET} -XX:SharedArchiveFile={path}", None)


def test_another_java_and_other_jars_have_another_one(home, jars, cache):
    written(shared(home, jars, cache).new)
    (jars / "another.jar").touch()
    assert shared(home, jars, cache).new is not None
    (jars / "another.jar").unlink()
    assert shared(home, jars, cache).new is None
    (home / "lib" / "server" / "libjvm.so").write_text("17.1")
    assert shared(home, jars, cache).new is not None


def test_half_of_a_file_is_not_taken_which_would_end_java(home, jars, cache):
    path = written(shared(home, jars, cache).new)
    path.write_text("class")
    assert shared(home, jars, cache).new is not None


def test_what_others_may_write_is_not_taken(home, jars, cache):
    path = written(shared(home, jars, cache).new)
    path.chmod(0o666)
    assert shared(home, jars, cache).new is not None
    path.chmod(0o644)
    path.parent.chmod(0o777)
    assert shared(home, jars, cache).new is not None


def test_a_java_that_fails_leaves_nothing(home, jars, cache):
    new = shared(home, jars, cache).new
    assert new is not None
    new.write_text("clas")
    with subprocess.Popen(["false"], stdin=subprocess.PIPE) as java:
        classes._ended(java, new)
    assert list(new.parent.iterdir()) == []


def test_what_nobody_has_used_for_long_is_removed(home, jars, cache):
    old = written(shared(home, jars, cache).new)
    os.utime(old, (0, old.stat().st_mtime - KEPT_S - 60))
    assert shared(home, jars, cache).new is None  # that is a use
    os.utime(old, (0, old.stat().st_mtime - KEPT_S - 60))
    (jars / "another.jar").touch()
    shared(home, jars, cache)
    assert not old.exists()


def test_of_other_installations_the_newest_are_kept(home, jars, cache):
    paths = []
    for number in range(KEPT + 2):
        (jars / f"another{number}.jar").touch()
        new = shared(home, jars, cache).new
        assert new is not None
        new.write_text("classes")
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as java:
            classes._ended(java, new)
        [path] = [each for each in new.parent.glob("*.jsa") if each not in paths]
        os.utime(path, (0, path.stat().st_mtime - 3600 + number))
        paths.append(path)
    shared(home, Path(jars.parent), cache)
    assert [path for path in paths if path.exists()] == paths[-KEPT:]


def test_there_is_none_of_a_java_to_which_nothing_can_be_added_and_without_a_place(home, jars):
    nowhere = {CACHE: str(home / "lib" / "server" / "libjvm.so")}
    assert shared(home, jars, nowhere) == ("", None)
    assert shared(home / "none", jars, nowhere) == ("", None)
