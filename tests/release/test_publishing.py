"""What a release does, in which order; nothing of it is done here."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from release import __main__ as command
from release import publishing, ready
from release.publishing import Release

ONE = Release(root=Path("/clone"), version="1.2.3", place="images.example/team")


def steps() -> list[list[str]]:
    """The commands, in their order."""
    commands: list[list[str]] = []
    publishing.build(ONE, commands.append)
    publishing.push(ONE, commands.append)
    return commands


def test_nothing_is_pushed_before_everything_is_built() -> None:
    pushes = [at for at, each in enumerate(steps()) if "--push" in each or "push" in each]
    assert pushes == list(range(len(steps()) - 3, len(steps())))


def test_what_is_pushed_has_the_version_and_the_chart_comes_after_what_it_names() -> None:
    *images, chart = steps()[-3:]
    assert [each[each.index("--tag") + 1] for each in images] == [
        "images.example/team/amqp-gateway:1.2.3",
        "images.example/team/amqp-gateway-accounting:1.2.3",
    ]
    assert chart[1:] == [
        "push",
        "/clone/dist/amqp-gateway-1.2.3.tgz",
        "oci://images.example/team/charts",
    ]


def test_images_say_what_they_contain_and_how_they_were_built() -> None:
    for each in steps()[-3:-1]:
        assert each[each.index("--sbom") + 1] == "true"
        assert each[each.index("--provenance") + 1] == "mode=max"


def test_every_suite_of_debian_makes_its_wheel() -> None:
    made = [each for each in steps() if "/image/wheel" in each]
    assert [each[-4] for each in made] == ["debian:bookworm-slim", "debian:trixie-slim"]
    assert {each[-2] for each in made} == {"/dist/amqp_gateway-1.2.3.tar.gz"}


def test_whatever_pip_fetches_has_a_checksum() -> None:
    installs = [each for each in steps() if "install" in each]
    assert len(installs) == 3
    for each in installs:
        assert "--require-hashes" in each
        assert each[-1].startswith("/clone/image/requirements/")


def test_each_image_has_its_list_of_contents() -> None:
    lists = [each[-1] for each in steps() if each[0].endswith("cyclonedx-py")]
    assert lists == [
        "/clone/dist/amqp-gateway-1.2.3.cdx.json",
        "/clone/dist/amqp-gateway-accounting-1.2.3.cdx.json",
    ]


def test_the_checksums_are_of_all_that_was_made(tmp_path: Path) -> None:
    one = Release(root=tmp_path, version="1", place="")
    one.dist.mkdir()
    (one.dist / "b.whl").write_bytes(b"")
    (one.dist / "a.tgz").write_bytes(b"x")
    publishing.sums(one)
    publishing.sums(one)
    lines = (one.dist / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert [line.split("  ")[1] for line in lines] == ["a.tgz", "b.whl"]
    assert lines[1].startswith("e3b0c44298fc1c149afbf4c8996fb924")


def test_what_another_release_has_left_is_not_published_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dist").mkdir()
    monkeypatch.setattr(ready, "problems", lambda root, tag: [])
    monkeypatch.setattr(command, "version", lambda root: "1")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    done = CliRunner().invoke(command.release, ["publish", "v1", "--to", "images.example"])
    assert (done.exit_code, done.output) == (1, "dist is there, of another time: delete it\n")


def test_a_dry_run_prints_each_command_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_run(*arguments: object, **extra: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(ready, "problems", lambda root, tag: [f"{tag}: not yet"])
    monkeypatch.setattr(command.subprocess, "run", no_run)
    arguments = ["publish", "v1", "--to", "images.example/team", "--dry-run"]
    done = CliRunner().invoke(command.release, arguments)
    assert done.exit_code == 1, "as the release itself would"
    printed = done.output.splitlines()
    assert printed[len(steps())] == "v1: not yet"
    assert printed[0].startswith("python3 -m venv --clear ")


def test_what_is_not_ready_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "problems", lambda root, tag: ["not ready"])
    monkeypatch.setattr(publishing, "build", lambda *_: pytest.fail("built"))
    monkeypatch.setattr(publishing, "push", lambda *_: pytest.fail("pushed"))
    done = CliRunner().invoke(command.release, ["publish", "v1", "--to", "images.example"])
    assert (done.exit_code, done.output) == (1, "not ready\n")
