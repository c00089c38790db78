"""What an operator may ask of a running gateway over the admin port, with the admin token.

GET  /ctl/status    upstreams, node rules, and what is under way
POST /ctl/pause     {"node": "orders"}: nothing is sent to it or fetched from it
POST /ctl/resume    {"node": "orders"}
POST /ctl/switch    {"node": "orders", "upstream": "new"}: answered when it is done; refused, if
                    `new` says that it does not have what is to live at it; with "drain": true
                    what the old one holds is carried along, "rate" messages a second at most
POST /ctl/move      {"queue": "orders", "from": "old", "to": "new", ...}: carry what upstream `old`
                    holds of it to `new`; "to" missing: to where the rules have the queue
POST /ctl/stop-move {"move": 1}
GET  /ctl/moves     those that are under way, and that are over
POST /ctl/shadow    {"node": "orders", "upstream": "new", "share": 0.1}: copies go there, too, by
                    the keys of `shadow` in the rules; with "stop": true none do any more
POST /ctl/reload    read the configuration again
POST /ctl/backup    {"directory": "/backups/monday"}: copy store and audit log to a new directory
                    where the gateway runs
GET  /ctl/connections    clients, and what they do
POST /ctl/let-go    {"segment": 17, "unbalanced": false}: segments of the audit log up to that
                    number; answered when they are removed
POST /ctl/close     {"connection": 7, "reason": "moved to another gateway"}: it is told why
POST /ctl/log-level {"subsystem": "upstreams", "level": "debug"}: what is written of it
GET  /ctl/sessions  sessions without a connection, and links that are suspended
POST /ctl/end       {"session": 12}: it is over, and what it holds goes back
GET  /ctl/subscriptions  durable subscriptions of 1.0 clients, and queues that may be such
POST /ctl/assign    {"queue": ..., "user": ..., "container": ..., "link": ..., "virtual_host": ...}:
                    the subscription is that user's; user "": of clients without a login
GET  /ctl/branches  branches of distributed transactions
POST /ctl/decide    {"branch": ..., "decision": "commit", "virtual_host": ...}: a prepared branch is
                    committed, or rolled back ("rollback", also one that can only be so); one so
                    ended is forgotten ("forget")

A request shows `Authorization: Bearer TOKEN`; without `admin_token_file` all of it is 404. Answers
are JSON: {"done": ...} or {"problems": [{"key": ..., "problem": ...}]}. A rule is named by its
pattern, by "queue:PATTERN" or "exchange:PATTERN", or by its key path, "nodes.0". What was changed
so holds until the next reload or restart: the configuration is the truth.
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Final, Protocol, final

from twisted.internet.defer import Deferred, DeferredLock, succeed
from twisted.python.failure import Failure
from twisted.web.http import Request
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from gateway.bridge.bridge import Bridge
from gateway.bridge.seams import Subscriber
from gateway.config import Settings
from gateway.errors import ConfigurationError, GatewayError, HalfDoneError
from gateway.faces.face import endpoint
from gateway.faces.leaving import KeptSessions
from gateway.net.admin.answers import Answers
from gateway.net.admin.asked.reading import (
    Answer,
    asked_in,
    command_of,
    flag_of,
    in_words,
    number_of,
    text_of,
)
from gateway.net.admin.asked.rules import rule_of, with_rule
from gateway.net.admin.branches import branches, decide
from gateway.net.admin.census import Census
from gateway.net.admin.channel import REASONS
from gateway.net.admin.connections import close, connections
from gateway.net.admin.missing import Missing
from gateway.net.admin.moves import moves_shown
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.sessions import end, sessions
from gateway.net.admin.shadows import asked_shadow
from gateway.net.admin.status import status
from gateway.net.admin.subscriptions import assign, subscriptions
from gateway.net.admin.tokens import Tokens
from gateway.net.alarm import Later
from gateway.net.backup import Backup
from gateway.net.listening.listen import Door
from gateway.net.logs import NamedLogger, change_level
from gateway.net.upstreams.behind import Behind
from gateway.net.upstreams.move import End, Wanted
from gateway.net.upstreams.moves import Moves
from gateway.net.upstreams.reload import MissingError, Operator, Reloading
from gateway.net.upstreams.upstreams import Upstreams

DEFECT: Final = "a defect of the gateway: see its log"
COMMANDS: Final = (
    *("pause", "resume", "switch", "reload", "close", "end", "assign", "decide", "backup"),
    *("let-go", "log-level", "move", "stop-move", "shadow"),
)


class LetGo(Protocol):
    """`service.letting_go.LettingGo.ask`."""

    def __call__(self, segment: int, by: Operator, *, unbalanced: bool) -> Deferred[str]:
        """Let segments to that number go; what went, in words."""


@final
class Control(Resource):
    """``/ctl`` and what is below it."""

    isLeaf = True  # Twisted's name
    log = NamedLogger("gateway.net.control.Control")

    def __init__(
        self,
        reloading: Reloading,
        upstreams: Upstreams,
        bridge: Bridge,
        tokens: Tokens,
        read_again: Callable[[], Settings],
        now_ms: Callable[[], int],
        door: Door,
        backup: Backup,
        *,
        kept: KeptSessions,
        let_go: LetGo,
        moves: Moves,
        later: Later,
        pieces: Pieces,
        answers: Answers,
    ) -> None:
        super().__init__()
        self._reloading = reloading
        self._upstreams = upstreams
        self._bridge = bridge
        self._tokens = tokens
        self._read_again = read_again
        self._now_ms = now_ms
        self._backup = backup
        self._kept = kept
        self._let_go = let_go
        self._moves = moves
        self._later = later
        self._door = door
        self._pieces = pieces
        self._gathering = DeferredLock()  # one answer at a time
        self._answers = answers
        self._views: dict[str, Callable[[], Iterator[str]]] = {
            "status": self._status,
            "connections": lambda: connections(door),
            "sessions": lambda: sessions(kept, now_ms),
            "subscriptions": lambda: subscriptions(bridge),
            "branches": lambda: branches(bridge),
            "moves": lambda: moves_shown(moves),
        }

    def render_GET(self, request: Request) -> bytes | int:
        """What there is to see."""
        refused = self._admit(request)
        if refused is not None:
            return refused
        command = command_of(request)
        if command in COMMANDS:
            return _by(request, "POST")
        view = self._views.get(command)
        if view is None:
            return _missing(request)
        Deferred.fromCoroutine(self._show(request, command, view()))
        return int(NOT_DONE_YET)

    async def _show(self, request: Request, what: str, view: Iterator[str]) -> None:
        """Answer with all of it, when it has been gathered."""
        gone: list[bool] = []
        request.notifyFinish().addBoth(lambda _result: gone.append(True))
        told: list[bytes] = []
        code = 200
        await self._gathering.acquire()
        try:
            if gone:
                return
            await self._pieces.gather(_collected(view, told))
        except Exception:
            self.log.failure("ctl {what} broke off", what=what)
            code = 500
            told = [_encoded(json.dumps({"problems": [_problem("", DEFECT)]}))]
        finally:
            self._gathering.release()
        if not gone:
            _head(request, code)
            self._answers.give(b"".join(told) + b"\n", [request])

    def _status(self) -> Iterator[str]:
        census = Census(self._bridge)
        for _ in census.take():
            yield ""
        told = status(self._reloading, self._upstreams, census, self._now_ms())
        yield json.dumps(told, ensure_ascii=False)

    def render_POST(self, request: Request) -> bytes | int:
        """The other commands."""
        refused = self._admit(request)
        if refused is not None:
            return refused
        command = command_of(request)
        if command in self._views:
            return _by(request, "GET")
        if command not in COMMANDS:
            return _missing(request)
        what = command
        try:
            asked = asked_in(request)
            what = in_words(command, asked)
            done = self._do(command, asked, _operator(request))
        except GatewayError as error:
            return self._refuse(request, what, error)
        except Exception as error:
            self._door.turns.broke(error)
            self.log.failure("ctl {what} broke off", what=what)
            return _json(request, 500, {"problems": [_problem("", DEFECT)]})
        gone: list[bool] = []
        request.notifyFinish().addErrback(lambda _failure: gone.append(True))

        def answer(told: str) -> None:
            self.log.info("ctl {what}: {told}", what=what, told=told)
            if not gone:
                request.write(_json(request, 200, {"done": told}))
                request.finish()

        def fail(failure: Failure) -> None:
            error = failure.value
            if not isinstance(error, GatewayError):
                self.log.failure("ctl {what} broke off", failure, what=what)
                error = GatewayError(DEFECT)
            told = self._refuse(request, what, error)
            if not gone:
                request.write(told)
                request.finish()

        done.addCallback(answer)
        done.addErrback(fail)
        return NOT_DONE_YET

    def _admit(self, request: Request) -> bytes | int | None:
        """`None`, or the answer to somebody who may not."""
        shown = request.getHeader(b"authorization") or b""
        address = str(getattr(request.getClientAddress(), "host", "unknown"))
        refused = self._tokens.judge(bytes(request.path).decode("ascii", "replace"), shown, address)
        if refused is None:
            return None
        if refused.code == 404:
            return _missing(request)
        if refused.code == 401:
            request.setHeader(b"www-authenticate", b"Bearer")
        return _json(request, refused.code, {"problems": [_problem("", refused.problem)]})

    def _refuse(self, request: Request, what: str, error: GatewayError) -> bytes:
        found = error.problems if isinstance(error, ConfigurationError) else [("", str(error))]
        lead = "" if isinstance(error, HalfDoneError) else "nothing changed: "
        for key, problem in found:
            told = f"{key}: {problem}" if key else problem
            self.log.error("ctl {what}: {lead}{told}", what=what, lead=lead, told=told)
        wrong = isinstance(error, ConfigurationError) and not isinstance(error, MissingError)
        code = 422 if wrong else 409
        return _json(request, code, {"problems": [_problem(*each) for each in found]})

    # What is asked for.

    def _do(self, command: str, asked: Answer, by: Operator) -> Deferred[str]:
        if command == "reload":
            return self._reloading.reload(self._read_again, by)
        if command == "backup":
            return self._backup.make(pathlib.Path(text_of(asked, "directory")))
        if command == "let-go":
            segment, unbalanced = number_of(asked, "segment"), flag_of(asked, "unbalanced")
            return self._let_go(segment, by, unbalanced=unbalanced)
        if command == "log-level":
            return succeed(change_level(text_of(asked, "subsystem"), text_of(asked, "level")))
        if command == "close":
            return succeed(self._do_at_once(command, asked, by))
        if command == "move":
            return succeed(self._move(asked))
        if command == "stop-move":
            move = self._moves.stop_one(number_of(asked, "move"))
            return succeed(f"move {move.number} stops")
        if command in ("end", "assign", "decide"):
            return WhenSafe(self._bridge, self._do_at_once(command, asked, by)).answer
        settings = self._reloading.settings
        at = rule_of(settings, text_of(asked, "node"))
        if command == "switch":
            return self._switch(settings, at, asked, by)
        change: dict[str, object] = {"paused": command == "pause"}
        if command == "shadow":
            change = {"shadow": asked_shadow(asked)}
        other = with_rule(settings, at, change)
        return self._reloading.change(f"{command} of nodes.{at}", other, by, configured=False)

    def _switch(self, settings: Settings, at: int, asked: Answer, by: Operator) -> Deferred[str]:
        upstream, drains = text_of(asked, "upstream"), flag_of(asked, "drain")
        if drains and settings.nodes[at].kind != "queue":
            problem = "an exchange holds nothing that could be carried along: only a queue does"
            raise ConfigurationError([("drain", problem)])
        rate = number_of(asked, "rate", 0) if drains else None
        other = with_rule(settings, at, {"upstream": upstream})
        behind = Behind(self._later, self._bridge, self._upstreams, at)
        done = self._reloading.change(
            f"switch of nodes.{at}", other, by, configured=False, drain=rate
        )
        stays = drains or settings.nodes[at].upstream == upstream
        return done if stays else done.addCallback(behind.told)

    def _move(self, asked: Answer) -> str:
        queue, host = text_of(asked, "queue"), text_of(asked, "virtual_host", "")
        source = End(text_of(asked, "from"), text_of(asked, "from_queue", "") or queue)
        target = End(text_of(asked, "to", ""), text_of(asked, "to_queue", "") or queue)
        if not target.upstream:
            target = self._moves.place_of(host, target.queue)
        rate = number_of(asked, "rate", 0)
        if rate < 0:
            raise ConfigurationError([("rate", "must not be below 0")])
        wanted = Wanted(host, source, target, rate, flag_of(asked, "follow"))
        move = self._moves.begin(wanted)
        return f"move {move.number} from {source} to {target} has begun"

    def _do_at_once(self, command: str, asked: Answer, by: Operator) -> str:
        self._bridge.now_ms = self._now_ms()
        self._door.turns.schedule()
        if command == "close":
            number = number_of(asked, "connection")
            return close(self._door, number, text_of(asked, "reason", ""))
        if command == "end":
            self._bridge.act_for_operator(self._now_ms(), by.how, by.address)
            return end(self._kept, number_of(asked, "session"))
        if command == "decide":
            branch, how = text_of(asked, "branch"), text_of(asked, "decision")
            host = text_of(asked, "virtual_host", "")
            self._bridge.act_for_operator(self._now_ms(), by.how, by.address)
            return decide(self._bridge, host, branch, how)
        subscriber = Subscriber(
            text_of(asked, "user", ""), text_of(asked, "container"), text_of(asked, "link")
        )
        host, queue = text_of(asked, "virtual_host", ""), text_of(asked, "queue")
        self._bridge.act_for_operator(self._now_ms(), by.how, by.address)
        return assign(self._bridge, host, queue, subscriber, self._door.authentication.users())


@final
class WhenSafe:
    """Has the answer once what was done is on disk. Implements `CommitWaiter`."""

    def __init__(self, bridge: Bridge, told: str) -> None:
        self.answer: Deferred[str] = Deferred()
        self._told = told
        bridge.wait(self)

    def on_committed(self, turn: int) -> None:
        """See `CommitWaiter`."""
        self.answer.callback(self._told)


def _operator(request: Request) -> Operator:
    """The token has no name of its own: whoever shows it is told by the address."""
    at = request.getClientAddress()
    return Operator("ctl", endpoint(str(getattr(at, "host", "unknown")), getattr(at, "port", 0)))


def _problem(key: str, problem: str) -> dict[str, str]:
    return {"key": key, "problem": problem}


def _collected(view: Iterator[str], told: list[bytes]) -> Iterator[None]:
    """Put what is told piece by piece there."""
    for piece in view:
        told.append(_encoded(piece))
        yield


def _head(request: Request, code: int) -> None:
    request.setResponseCode(code, REASONS.get(code))
    request.setHeader(b"content-type", b"application/json")
    request.setHeader(b"cache-control", b"no-store")


def _json(request: Request, code: int, answer: Answer) -> bytes:
    _head(request, code)
    return _encoded(json.dumps(answer, ensure_ascii=False)) + b"\n"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _by(request: Request, method: str) -> bytes:
    """It is asked for by another method."""
    request.setHeader(b"allow", method.encode())
    problem = _problem("", f"it can be asked for by {method} only")
    return _json(request, 405, {"problems": [problem]})


def _missing(request: Request) -> bytes | int:
    answer: bytes | int = Missing().render(request)
    return answer
