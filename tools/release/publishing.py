"""The steps of a release, in their order: everything is built before anything is pushed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from release import locks, pages

# Where wheels are made: Debian's suites, each with its own Python.
SUITES: Final = ("bookworm", "trixie")
IMAGES: Final = {"gateway": "amqp-gateway", "accounting": "amqp-gateway-accounting"}
TOOLS: Final = ".venv-release"

Run = Callable[[list[str]], None]


@dataclass(frozen=True)
class Release:
    """What is published: this clone as one version, to one place.

    `place` is what names of images begin with, as `host/team`; its charts are in `place/charts`.
    """

    root: Path
    version: str
    place: str

    @property
    def dist(self) -> Path:
        """Where all that is made comes to."""
        return self.root / "dist"

    def tool(self, name: str) -> str:
        """One of the locked tools."""
        return str(self.root / TOOLS / "bin" / name)


def build(release: Release, run: Run) -> None:
    """Source, wheels, lists of contents, images, chart."""
    lock = str(release.root / locks.FOLDER)
    run(["python3", "-m", "venv", "--clear", str(release.root / TOOLS)])
    run([release.tool("pip"), *_checked(lock, "release")])
    sdist = ["-m", "build", "--sdist", "--no-isolation", "--outdir", str(release.dist)]
    run(["env", "GATEWAY_PURE=1", release.tool("python"), *sdist, str(release.root)])
    for suite in SUITES:
        run(_wheel(release, suite))
    for target in IMAGES:
        contents(release, target, run)
        run(_image(release, target))
    chart(release, run)


def contents(release: Release, target: str, run: Run) -> None:
    """The list of what an image has of PyPI, with licences (CycloneDX)."""
    environment = str(release.root / f"{TOOLS}-{target}")
    run(["python3", "-m", "venv", "--clear", "--without-pip", environment])
    there = [release.tool("pip"), "--python", f"{environment}/bin/python"]
    run([*there, *_checked(str(release.root / locks.FOLDER), target)])
    run(
        [
            *(release.tool("cyclonedx-py"), "environment", environment, "--output-reproducible"),
            *("--pyproject", str(release.root / "pyproject.toml"), "--mc-type", "application"),
            *("--output-file", str(release.dist / f"{IMAGES[target]}-{release.version}.cdx.json")),
        ]
    )


def chart(release: Release, run: Run) -> None:
    """The chart as one file."""
    run(["helm", "package", str(release.root / "helm"), "--destination", str(release.dist)])


def push(release: Release, run: Run, helm_options: tuple[str, ...] = ()) -> None:
    """Images, which the chart names, and then the chart."""
    for target in IMAGES:
        run([*_image(release, target), "--provenance", "mode=max", "--sbom", "true", "--push"])
    push_chart(release, run, helm_options)


def push_chart(release: Release, run: Run, helm_options: tuple[str, ...] = ()) -> None:
    """The chart to where `helm install oci://...` finds it."""
    file = release.dist / f"amqp-gateway-{release.version}.tgz"
    run(["helm", "push", str(file), f"oci://{release.place}/charts", *helm_options])


def share(release: Release) -> None:
    """What source and wheels have besides, made by this clone's own command."""
    pages.write(release.root, release.version)


def sums(release: Release) -> None:
    """SHA256SUMS of all that was made."""
    made = sorted(path for path in release.dist.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (release.dist / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _checked(lock: str, name: str) -> list[str]:
    options = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    return [*options, "-r", f"{lock}/{name}.txt"]


def _wheel(release: Release, suite: str) -> list[str]:
    source = f"/dist/amqp_gateway-{release.version}.tar.gz"
    mounted = ["-v", f"{release.root}/image:/image:ro", "-v", f"{release.dist}:/dist"]
    made_by = [f"debian:{suite}-slim", "/image/wheel", source, "/dist"]
    return ["docker", "run", "--rm", *mounted, *made_by]


def _image(release: Release, target: str) -> list[str]:
    name = f"{release.place}/{IMAGES[target]}:{release.version}"
    labels = ["--label", f"org.opencontainers.image.version={release.version}"]
    where = ["--platform", "linux/amd64", "--target", target, "--tag", name]
    return ["docker", "buildx", "build", str(release.root), *where, *labels]
