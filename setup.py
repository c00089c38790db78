"""The extensions: the hot packages compiled by mypyc, or none. Metadata is in pyproject.toml.

Without a C compiler, or when anything in the build fails, the same source is installed as it is.
`GATEWAY_PURE=1` builds no extension; `GATEWAY_PURE=0` fails when they cannot be built.

`GATEWAY_COMPILED` names a directory that keeps what was built, for whoever builds the same again:
`.ci/run` sets it, as it carries out several commands that each build. What is kept is found by a
checksum of everything that it was made of and with, so it cannot be stale. `GATEWAY_OPTIMIZE` is
the compiler's level, 3 if it is not set: what is only tried need not be fast.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).parent
PURE = os.environ.get("GATEWAY_PURE", "")
OPTIMIZE = os.environ.get("GATEWAY_OPTIMIZE", "3")
LOCKED = os.open(__file__, os.O_RDONLY)  # until the process ends

# What pip runs before it builds: to run mypyc for these, too, would take as long each time.
DESCRIBING = {"egg_info", "dist_info"}

HOT_PACKAGES = [
    "wire",
    "audit/records",
    "amqp_0_10",
    "amqp_1_0",
    "selectors",
    "permissions",
    "translate",
    "bridge",
    "faces",
]
HOT_STORE = [
    *("writes", "log_rows", "recovery", "places", "tallies", "occupancy", "rewriting"),
    *("entries", "recall/rereading"),
]
HOT_MODULES = [
    *["errors", "message", "audit/packing", "audit/digests"],
    *[f"store/{name}" for name in HOT_STORE],
]
# Loaded once at start from YAML: nothing to gain, and a third-party parser to import.
PURE_MODULES = {"gateway/translate/mapping_rows.py", "gateway/translate/profiles/loading.py"}
# In the layers above what is compiled, which cannot import them: nothing compiled depends on them.
ABOVE = {
    *("__main__", "accounting", "codegen", "cli", "service", "clients", "net"),
    *("config", "metrics", "migration", "offline"),
}

# In what mypyc writes: a function that lets an instance go, and the lines that may put that off.
DEALLOC = re.compile(r"^( *)\w+_dealloc\(\w+ \*self\)\n\1\{.*?^\1\}", re.MULTILINE | re.DOTALL)
PUT_OFF = re.compile(r"^ *CPy_TRASHCAN_(?:BEGIN|END)\(.*\)\n", re.MULTILINE)


def compiled(path: str) -> bool:
    """Whether a module of a hot package is compiled; its `__init__` cannot need its own library."""
    return path not in PURE_MODULES and not path.endswith("__init__.py")


def hot_groups() -> list[tuple[list[str], str]]:
    """What is compiled into one library each: a package, whose modules may import one another.

    Between the libraries imports must not form cycles, which the layers see to.
    """
    groups = [([f"gateway/{name}.py"], f"gateway.{name.replace('/', '.')}") for name in HOT_MODULES]
    for package in HOT_PACKAGES:
        paths = sorted((ROOT / "gateway" / package).rglob("*.py"))
        found = [path.relative_to(ROOT).as_posix() for path in paths]
        groups.append(
            ([path for path in found if compiled(path)], f"gateway.{package.replace('/', '.')}.hot")
        )
    return groups


def made_of() -> str:
    """The checksum of what decides what comes out: the sources, and every tool that reads them.

    What is compiled has the types of what it imports, so all modules count that it may import.
    """
    digest = hashlib.sha256()
    rooms = sorted(path for path in (ROOT / "gateway").iterdir() if path.stem not in ABOVE)
    sources = [
        path for room in rooms for path in ([room] if room.is_file() else room.rglob("*.py"))
    ]
    for path in [*sorted(sources), ROOT / "setup.py"]:
        octets = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {len(octets)}\n".encode() + octets)
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    said = subprocess.run(
        f"{compiler} --version", shell=True, capture_output=True, text=True, check=False
    )
    tools = [
        *(sys.version, platform.platform(), sysconfig.get_platform(), said.stdout),
        *(f"{name}={os.environ.get(name)}" for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")),
        f"-O{OPTIMIZE}",
        *sorted(f"{each.name} {each.version}" for each in importlib.metadata.distributions()),
    ]
    digest.update("\n".join(tools).encode())
    return digest.hexdigest()


class Kept:
    """The libraries of a build, in a directory of their own; `place` is None where none is kept."""

    def __init__(self) -> None:
        directory = os.environ.get("GATEWAY_COMPILED")
        self.place = pathlib.Path(directory, made_of()) if directory else None

    def libraries(self) -> list[str]:
        """Their paths below `place`, as below the root of what is installed."""
        if self.place is None:
            return []
        return [path.relative_to(self.place).as_posix() for path in self.place.rglob("*.so")]

    def keep(self, built: pathlib.Path, libraries: list[str]) -> None:
        """Put them there, whole or not at all; somebody else may be doing the same."""
        if self.place is None or self.place.exists():
            return
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.place.parent) as work:
            made = pathlib.Path(work, "made")
            for library in libraries:
                (made / library).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(built / library, made / library)
            with contextlib.suppress(OSError):  # it is there by now
                made.rename(self.place)


class BuildOrStayPure(build_ext):
    """Compile everything or nothing: mypyc's extensions need one another, so a part is no use."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.parallel = os.cpu_count() or 1

    def run(self) -> None:
        try:
            super().run()
        except BaseException as error:
            if PURE == "0":
                raise
            self.discard()
            print(
                f"gateway: not compiled ({type(error).__name__}: {error}); installing pure Python"
            )
            return
        if self.extensions:
            names = [self.get_ext_filename(extension.name) for extension in self.extensions]
            kept.keep(pathlib.Path(self.build_lib), names)

    def build_extension(self, ext: Extension) -> None:
        """Build it, unless it is one that an equal build has left."""
        if ext.sources:
            super().build_extension(ext)
            return
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(kept.place / self.get_ext_filename(ext.name), target)

    def discard(self) -> None:
        """Delete whatever was built, and forget the extensions."""
        for extension in self.extensions:
            for base in (self.build_lib, str(ROOT)):
                built = pathlib.Path(base, self.get_ext_filename(extension.name))
                built.unlink(missing_ok=True)
        self.extensions = []
        self.distribution.ext_modules = []

    def copy_extensions_to_source(self) -> None:
        if self.extensions:
            super().copy_extensions_to_source()


def let_go_at_once(source: pathlib.Path) -> None:
    """Have no instance of an acyclic class put off by CPython when it is let go.

    What is let go at the 50th level of others is put into a list that goes through the header of
    the cycle collector, which acyclic classes have not: mypyc 2.4.1 writes over what is before
    them in memory. They hold nothing that goes deeper.
    """
    octets = source.read_text()

    def mended(found: re.Match[str]) -> str:
        body = found[0]
        return body if "PyObject_GC_UnTrack" in body else PUT_OFF.sub("", body)

    if (without := DEALLOC.sub(mended, octets)) != octets:
        source.write_text(without)


def extensions() -> list[object]:
    if PURE == "1" or not DESCRIBING.isdisjoint(sys.argv):
        return []
    # Two builds in one tree write the same files: a library of both would be kept as a good one.
    fcntl.flock(LOCKED, fcntl.LOCK_EX)
    if found := kept.libraries():
        print(f"gateway: compiled before, taken from {kept.place}")
        return [Extension(path.partition(".")[0].replace("/", "."), sources=[]) for path in found]
    try:
        from mypyc.build import mypycify

        groups = hot_groups()
        # The empty config file keeps pyproject's mypy plugin out of the isolated build; a cache
        # that is not new makes mypyc 2.4.1 fail over attributes that it had compiled before.
        options = ["--config-file=", "--strict", f"--cache-dir={tempfile.mkdtemp()}"]
        made = mypycify(
            [*options, *[path for paths, _ in groups for path in paths]],
            opt_level=OPTIMIZE,
            separate=groups,
            debug_level="0",
        )
        for source in {source for extension in made for source in extension.sources}:
            let_go_at_once(pathlib.Path(source))
        if os.name == "posix":  # looking for what to warn of in it took a fifth of the time
            for extension in made:
                extension.extra_compile_args.append("-Wno-all")
        return made
    except (Exception, SystemExit) as error:
        if PURE == "0":
            raise
        print(f"gateway: mypyc refused ({error}); installing pure Python", file=sys.stderr)
        return []


def shared() -> list[tuple[str, list[str]]]:
    """The manual page and completions, where a release has written them."""
    paths = [path.relative_to(ROOT) for path in (ROOT / "share").rglob("*") if path.is_file()]
    return [(str(path.parent), [str(path)]) for path in sorted(paths)]


kept = Kept()
setup(ext_modules=extensions(), cmdclass={"build_ext": BuildOrStayPure}, data_files=shared())
