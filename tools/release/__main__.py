"""The command: `PYTHONPATH=tools python -m release`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from gateway.codegen.version import version
from release import bases, locks, notice, publishing, ready, registry

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ROOT / publishing.TOOLS / "bin"


@click.group()
def release() -> None:
    """Prepare and publish a release; docs/releases.md has the whole way."""


@release.command()
@click.option("--uv", default=str(TOOLS / "uv"), show_default=True, help="The program.")
def lock(uv: str) -> None:
    """Write image/requirements anew; versions stay that still fit."""
    locks.compile_all(ROOT, uv)


@release.command("notice")
@click.option("--pip", default=str(TOOLS / "pip"), show_default=True, help="25.1 or later.")
def write_notice(pip: str) -> None:
    """Write NOTICE by what the locked packages say of themselves."""
    told = {name: notice.report(ROOT, name, pip) for name in locks.RUNS}
    (ROOT / "NOTICE").write_text(notice.page(told), encoding="utf-8")


@release.command()
def pin() -> None:
    """Write the Dockerfile's bases with the digests that their tags stand for now."""
    dockerfile = ROOT / "Dockerfile"
    try:
        text = bases.pinned(dockerfile.read_text(encoding="utf-8"), registry.digest)
    except registry.RegistryError as error:
        sys.exit(f"release: {error}")
    dockerfile.write_text(text, encoding="utf-8")


@release.command()
@click.argument("tag")
def check(tag: str) -> None:
    """Say why this clone cannot be published as TAG."""
    if told := ready.problems(ROOT, tag):
        sys.exit("\n".join(told))


@release.command()
@click.argument("tag")
@click.option("--to", "place", required=True, help="What images' names begin with: host/team.")
@click.option("--dry-run", is_flag=True, help="Check, and print what would be done.")
def publish(tag: str, place: str, dry_run: bool) -> None:
    """Build everything of TAG into dist/, then push the images and the chart."""
    told = ready.problems(ROOT, tag)
    one = publishing.Release(root=ROOT, version=version(ROOT), place=place)
    if one.dist.exists():
        told.append("dist is there, of another time: delete it")
    if dry_run:
        publishing.build(one, printed)
        publishing.push(one, printed)
    if told:
        sys.exit("\n".join(told))
    if not dry_run:
        one.dist.mkdir()
        publishing.share(one)
        publishing.build(one, done)
        publishing.sums(one)
        publishing.push(one, done)


def printed(command: list[str]) -> None:
    """Only say it."""
    click.echo(shlex.join(command))


def done(command: list[str]) -> None:
    """Say it, and do it."""
    printed(command)
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    release(prog_name="release")
