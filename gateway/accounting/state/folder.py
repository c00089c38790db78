"""The directory in which a run leaves what the next one goes on from.

`state.json` names what counts: directories with parts of the log as Parquet (`segments.parts`), one
for each run, and one with the records that are carried on. It is replaced at once when all that it
names is there; what it does not name is of a run that broke off, and is deleted by the next.

Whatever is wrong with it is a `StateError` in a sentence.

How its files are kept, and other runs away from them, is told in `keeping`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from gateway.accounting.locations.location import Location
from gateway.accounting.state.keeping import STATE_FILE, Elsewhere, Here, InUseError, Table
from gateway.audit.let_go import LetGo
from gateway.audit.schema import SCHEMA_VERSION, segment_numbers
from gateway.files.json_text import json_value

# Of the state, raised with whatever a fold leaves out and a step asks for; and of the records.
FORM: Final = f"2.{SCHEMA_VERSION}"
DIGEST: Final = "sha256"  # of all else that stands in `state.json`
REBUILD: Final = "begin anew with --rebuild"

Tables = dict[str, dict[str, Table]]


class StateError(Exception):
    """The state cannot be gone on from; why, in a sentence."""


class Covered(NamedTuple):
    """One segment that is in the state: it need not be read again."""

    name: str
    octets: int
    sha256: str


class Said(NamedTuple):
    """What one run has left of the segments that were new to it.

    Attributes:
        folder: where.
        last_ms: the time of its last record.
    """

    folder: str
    last_ms: int


class Had(NamedTuple):
    """What had come by the end of a book that a state begins with.

    Attributes:
        segments: so many of those that are covered are the book's.
        message: of messages up to this one the records are carried on, or they had left.
    """

    segments: int = 0
    message: int = 0


class State(NamedTuple):
    """What `state.json` says.

    Attributes:
        log: the id of the log; empty: it is of a version that has none.
        late_ms: the bound above which what is settled is late.
        segments: those that are covered, in the order of the log.
        said: by the runs so far, in their order.
        records: the folder of the records that are carried on; empty: there are none yet.
        had: by a book that it begins with.
    """

    log: str = ""
    late_ms: int = 0
    segments: tuple[Covered, ...] = ()
    said: tuple[Said, ...] = ()
    records: str = ""
    had: Had = Had()

    @property
    def last(self) -> str:
        """The name of the last segment that is covered; empty: none is."""
        return self.segments[-1].name if self.segments else ""


class Folder:
    """One state's directory; `path` is made if it is not there."""

    def __init__(self, path: Location) -> None:
        self.path = path
        self._kept = Here(path) if isinstance(path, Path) else Elsewhere(path)
        self._named: AbstractSet[str] = frozenset()  # by the state that was read
        self._tables: Tables = {}  # of each of these, as far as it says
        self._begun: set[str] = set()  # that no state names yet

    @contextmanager
    def held(self) -> Iterator[None]:
        """For one run alone, where that can be. Raises StateError where another one has it.

        What a run has begun, and is not in the state at the end, is deleted: a disk that is full
        would stay so.
        """
        try:
            with self._kept.held():
                try:
                    yield
                finally:
                    self._kept.drop(self._begun)
                    self._begun = set()
        except InUseError as error:
            raise StateError(f"{self.path} {error}") from None

    def read(self) -> State:
        """What the run before has left; of a new directory, nothing."""
        path = self.path / STATE_FILE
        self._named, self._tables = frozenset(), {}
        try:
            state, tables = parsed(self._kept.read())
        except FileNotFoundError:
            return State()
        except OSError as error:
            raise StateError(f"cannot read {path}: {error.strerror}") from None
        except StateError as error:
            raise StateError(f"{path} {error}: {REBUILD}") from None
        self._named, self._tables = _named(state), tables
        self._check_tables()
        return state

    def _check_tables(self) -> None:
        """StateError unless all is there that the state names: Spark reads what is left."""
        for name in sorted(self._named):
            where = self.path / name
            try:
                there = self._kept.tables(name)
            except OSError as error:
                raise StateError(f"cannot read {where}: {error.strerror}") from None
            if not there:
                raise StateError(f"{where} is missing, which the state names: {REBUILD}")
            if not _same(there, self._tables.get(name, there)):
                raise StateError(
                    f"{where} is not as the state has it, changed or some is missing: {REBUILD}"
                )

    def fresh(self, state: State) -> tuple[str, str]:
        """The names of two folders that are not there yet, behind those that the state names."""
        number = self._kept.fresh(_named(state))
        one, other = f"{number:08d}", f"{number + 1:08d}"
        self._begun = {one, other}
        return one, other

    def write(self, state: State) -> None:
        """From now on this counts, and only that. Raises OSError, StateError."""
        before, self._named = self._named, _named(state)
        # Of what was there before, as it was found: what went since is missing.
        tables = {name: self._tables.get(name) or self._kept.tables(name) for name in self._named}
        self._tables = tables
        self._check_tables()
        try:
            self._kept.put(in_text(state, tables))
        except InUseError as error:
            raise StateError(f"{self.path} {error}") from None
        self._begun = set()
        self._kept.sweep(self._named, before)

    def clear(self) -> None:
        """Nothing was reconciled yet."""
        self._kept.clear()
        self._named, self._tables = frozenset(), {}


def in_text(state: State, tables: Tables) -> str:
    """What stands in `state.json`."""
    told = {
        "form": FORM,
        "log": state.log,
        "late_ms": state.late_ms,
        "segments": [list(each) for each in state.segments],
        "said": [list(each) for each in state.said],
        "records": state.records,
        "had": list(state.had),
        "tables": tables,
    }
    return json.dumps(told | {DIGEST: _digest_of(told)})


def _digest_of(told: dict[str, Any]) -> str:  # Any: of JSON
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def parsed(octets: bytes) -> tuple[State, Tables]:
    """What a file of that content says. Raises StateError, in words that follow its name."""
    try:
        told = json_value(octets)
    except ValueError:
        raise StateError("is no state") from None
    digest = told.pop(DIGEST, None) if isinstance(told, dict) else None
    if digest is not None and digest != _digest_of(told):  # earlier gateways wrote none
        raise StateError("is damaged")
    form = told.get("form") if isinstance(told, dict) else None
    if form != FORM:
        raise StateError(f"is of version {form}, not of {FORM}")
    try:
        return _state(told), _tables(told)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StateError("is no state") from None


def _tables(told: dict[str, Any]) -> Tables:  # Any: of JSON
    """Of each folder its files; earlier versions say their octets alone, or nothing."""
    return {
        str(name): {
            str(file): Table(said, "") if isinstance(said, int) else Table(int(said[0]), said[1])
            for file, said in files.items()
        }
        for name, files in told.get("tables", {}).items()
    }


def _same(there: dict[str, Table], said: dict[str, Table]) -> bool:
    """Whether these are the files that the state says, as far as it does."""
    as_far = {
        name: table if said.get(name, table).footer else Table(table.octets, "")
        for name, table in there.items()
    }
    return as_far == said


def _named(state: State) -> set[str]:
    return {each.folder for each in state.said} | ({state.records} - {""})


def _state(told: dict[str, Any]) -> State:  # Any: of JSON
    state = State(
        str(told["log"]),
        int(told["late_ms"]),
        tuple(Covered(str(name), int(size), str(sha)) for name, size, sha in told["segments"]),
        tuple(Said(str(folder), int(last)) for folder, last in told["said"]),
        str(told["records"]),
        Had(*map(int, told.get("had", Had()))),  # earlier versions have not said it
    )
    if not all(name.isdigit() for name in _named(state)):
        raise ValueError("a folder's name is no number")
    return state


def differences(state: State, there: dict[str, int], let_go: LetGo) -> list[tuple[str, str]]:
    """Covered segments that are not as they were: name, and what is wrong; `there`: their sizes."""
    found = []
    for name, octets, sha256 in state.segments:
        size = there.get(name)
        number, _incarnation = segment_numbers(name)
        gone = let_go.through(number) if size is None else None
        if gone is not None:
            if gone.last_segment == number and gone.sha256 not in ("", sha256):
                found.append((name, "it was let go, and was not what was reconciled before"))
        elif size is None:
            found.append((name, "it was reconciled before, and is not there any more"))
        elif size != octets:
            told = f"it had {octets} octets when it was reconciled before, and has {size} now"
            found.append((name, told))
    return found
