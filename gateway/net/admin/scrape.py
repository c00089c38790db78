"""Metrics as they are asked for: gathered in pieces, made into text in another thread.

Numbers are read on the thread that counts them; very many of them over several passes of its loop.
Whoever asks meanwhile waits for the next time, and all who wait then have one text, if they want
the same form. So there is one gathering at a time, and as many texts as forms.
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry
from prometheus_client.exposition import choose_encoder, gzip_accepted
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.http import Request
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from gateway.metrics import Collector
from gateway.net.admin.answers import Answers
from gateway.net.admin.pieces import Pieces

InThread = Callable[[Callable[[], bytes]], Deferred[bytes]]
DEFECT: Final = b"a defect of the gateway: see its log\n"
PATTERNS_MAX: Final = 10
NAME_MAX: Final = 255
TOO_MANY: Final = b"match: 10 patterns at most, of 255 characters each\n"


class Form(NamedTuple):
    """How the numbers are wanted: in which format, compressed or not.

    Attributes:
        names: of the metrics that are wanted; none: all.
        objects: patterns of the names of objects that are wanted, for metrics that have such.
    """

    accept: str
    zipped: bool
    names: tuple[str, ...]
    objects: tuple[str, ...]


@final
class Scrape(Resource):
    """The metrics of one table.

    Args:
        objects: they are by name: ``match`` says of which, with `*`, `?` and `[...]`.
    """

    isLeaf = True  # Twisted's name
    log = Logger()

    def __init__(
        self,
        collector: Collector,
        registry: CollectorRegistry,
        *,
        pieces: Pieces,
        answers: Answers,
        in_thread: InThread,
        objects: bool = False,
    ) -> None:
        super().__init__()
        self._objects = objects
        self._collector = collector
        self._registry = registry
        self._pieces = pieces
        self._answers = answers
        self._in_thread = in_thread
        self._waiting: dict[Request, Form] = {}
        self._at_work = False

    def render_HEAD(self, request: Request) -> bytes:
        """That there are numbers; they are not gathered for it."""
        request.setHeader(b"content-type", CONTENT_TYPE_LATEST.encode())
        return b""

    def render_GET(self, request: Request) -> int:
        """All of them, when they have been gathered."""
        waiting = self._waiting
        form = _form(request, objects=self._objects)
        if len(form.objects) > PATTERNS_MAX or max(map(len, form.objects), default=0) > NAME_MAX:
            request.setResponseCode(400)
            request.write(TOO_MANY)
            request.finish()
            return int(NOT_DONE_YET)
        waiting[request] = form
        request.notifyFinish().addBoth(lambda _result: waiting.pop(request, None))
        if not self._at_work:
            self._at_work = True
            Deferred.fromCoroutine(self._work())
        return int(NOT_DONE_YET)

    async def _work(self) -> None:
        """Go on until nobody waits."""
        while self._waiting:
            asked = dict(self._waiting)
            try:
                gathered = None
                for form in sorted(set(asked.values()), key=lambda form: form.objects):
                    if form.objects != gathered:
                        await self._pieces.gather(self._collector.pieces(form.objects))
                        gathered = form.objects
                    text = await self._in_thread(partial(_text, self._registry, form))
                    self._answer(text, [each for each in asked if asked[each] == form], form)
            except Exception:
                self.log.failure("metrics cannot be told")
                for request in asked:
                    if self._waiting.pop(request, None) is not None:
                        request.setResponseCode(500)
                        request.write(DEFECT)
                        request.finish()
        self._at_work = False

    def _answer(self, text: bytes, asked: list[Request], form: Form) -> None:
        """Those of them who still wait."""
        there = [request for request in asked if self._waiting.pop(request, None) is not None]
        for request in there:
            request.setHeader(b"content-type", choose_encoder(form.accept)[1].encode())
            if form.zipped:
                request.setHeader(b"content-encoding", b"gzip")
        self._answers.give(text, there)


def _form(request: Request, *, objects: bool) -> Form:
    try:
        accept = (request.getHeader(b"accept") or b"").decode("ascii")
        choose_encoder(accept)
    except (TypeError, ValueError):  # it is no text, or of a version that is none
        accept = ""
    encoding = request.getHeader(b"accept-encoding") or b""
    return Form(
        accept,
        gzip_accepted(encoding.decode("ascii", "replace")),
        _said(request, b"name[]"),
        _said(request, b"match") if objects else (),
    )


def _said(request: Request, key: bytes) -> tuple[str, ...]:
    values = (request.args or {}).get(key, [])
    return tuple(value.decode("utf-8", "replace") for value in values)


def _text(registry: CollectorRegistry, form: Form) -> bytes:
    """In another thread."""
    encoder, _content_type = choose_encoder(form.accept)
    chosen = registry.restricted_registry(form.names) if form.names else registry
    octets = encoder(chosen)
    return gzip.compress(octets) if form.zipped else octets
