"""The lines for the terminal, and the whole page."""

import re
import shlex
from html.parser import HTMLParser

from support.results import broken, figure, found, row_of

from gateway.accounting.steps.identities import QUEUE
from gateway.accounting.telling import report
from gateway.accounting.telling.ran import Ran
from gateway.accounting.telling.stories import Told

RAN = Ran("alice on host", 1_790_000_000.0, 1_790_000_012.0, {"Spark": "4"}, "stuck after 30 days")


def test_the_terminal_has_one_command_for_the_messages_and_one_for_each_queue() -> None:
    by_queue = "amqp-gateway audit trace --queue q --until T /log"
    breaks = [broken(message=each) for each in (7, 8, 7, 9)] + [broken(node="q")]
    by_message = Told([], "amqp-gateway audit trace --message N /log")
    stories = [*[by_message] * 3, Told([], ""), Told([], by_queue)]  # of 9 there is no step
    lines = report.summary(found(breaks=breaks, stories=stories, log="/a log"), "r").splitlines()
    told = [line.removeprefix("  stories  ") for line in lines if line.startswith("  stories")]
    assert shlex.split(told[0])[3:] == ["--message", "7", "--message", "8", "/a log"]
    assert told[1:] == [by_queue]


def test_what_is_less_than_nothing_is_said_of_what_it_goes_beyond() -> None:
    result = found()
    result.sums["outlets"] |= {"sent": 1, "accepted": 4, "cut_off": -3}
    told = report.summary(result, "r")
    assert "1 sent, 4 accepted, 3 more than were sent" in told
    result.told.update(received=4, accepted=6, beyond=2)
    assert "4 messages published, 6 accepted, 2 told of and never" in report.summary(result, "r")


class Tags(HTMLParser):
    """Whether what is opened is closed, and what a page asks others for."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.asked: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        said = dict(attrs)
        self.asked += [tag] if tag in ("script", "link", "img", "iframe") else []
        self.asked += [value for name, value in attrs if name in ("src", "srcset")]
        self.asked += [said["href"]] if not said.get("href", "#").startswith("#") else []
        self.ids += [said["id"]] if "id" in said else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_asks_nobody_for_anything() -> None:
    page = report.html_page(found(breaks=[broken(message=7)], figures=[_flow()]), RAN)
    tags = Tags(page)
    assert (tags.open, tags.asked) == ([], [])
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r'href="#(\w+)"', page)) <= set(tags.ids)
    assert len(set(tags.ids)) == len(tags.ids)


def _flow() -> dict:
    return figure("flow", run=1, at_ms=1_790_000_000_000, count=1, entered=1, left=0, change=1)


def test_who_ran_it_stands_before_the_verdict_and_the_verdict_says_what_it_covers() -> None:
    page = report.html_page(found(), RAN)
    assert page.index("alice on host") < page.index("<h1>Balanced</h1>")
    assert "It covers records 1 to 20" in page
    assert "is final" in page
    running = report.html_page(found(incarnations=[{"incarnation": 1, "stopped": False}]))
    assert "is provisional" in running


def test_a_page_of_very_many_queues_stays_small_and_says_what_it_leaves_out() -> None:
    rows = [row_of(QUEUE, f"queue.{each:05d}." + "x" * 60, entered=each) for each in range(500)]
    result = found(queues=rows, over_runs=[row | {"of": 30_000} for row in rows])
    result.sums["queues"]["rows"] = 60_000
    page = report.html_page(result, RAN)
    assert len(page) < 1_000_000
    assert "500 of 60,000 queues" in page
    assert "500 of 30,000 queues" in page


def test_a_log_without_any_record_has_a_page() -> None:
    facts = dict.fromkeys(found().log_facts) | {"segments": 1, "runs": 0}
    page = report.html_page(found(log_facts=facts, incarnations=[], figures=[]), RAN)
    assert "No record could be read." in page
