"""Other settings while a gateway runs: what counts at once, and what is refused."""

from __future__ import annotations

import io
import json
import pathlib
from threading import Event, current_thread
from typing import Any

import pytest
import yaml
from support.bridge_world import Session
from support.upstream_world import Broker
from support.whole_gateway import THREAD_TIMEOUT_S, WholeGateway
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from twisted.web.test.requesthelper import DummyRequest

from gateway.amqp_1_0 import _spec
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.clients.letter import Letter, Typed
from gateway.config import Settings, load
from gateway.errors import ConfigurationError
from gateway.message import Refusal
from gateway.net.admin.answers import Answers
from gateway.net.admin.control import Control
from gateway.net.admin.pieces import Pieces
from gateway.net.kept_files import read_all
from gateway.net.listening.users import make_user, write_users
from gateway.net.upstreams.reload import ASK_MS, READING_S, SIGNALLED, BusyError, fixed
from gateway.service.files import kept
from gateway.wire.accounts import Account
from gateway.wire.places import Elsewhere, Place

UPSTREAMS = {name: {"hosts": [f"amqp://127.0.0.1:{port}"]} for name, port in [("a", 1), ("b", 2)]}

LETTER = Letter(body=Typed("string", "x"))


class Stay:
    """A gateway with a configuration file that the test rewrites."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.token = directory / "token"
        self.token.write_text("secret\n")
        self.file = directory / "gateway.yaml"
        self.raw: dict[str, Any] = {
            "listen": {"amqp": "127.0.0.1:0"},
            "admin": "127.0.0.1:0",
            "data_directory": str(directory / "data"),
            "store_reserve": 0,
            "admin_token_file": str(self.token),
            "upstreams": UPSTREAMS,
            "nodes": [{"queue": "far", "upstream": "a"}, {"exchange": "x", "upstream": "b"}],
        }
        changes = [f"{key}={json.dumps(value)}" for key, value in self.raw.items()]
        self.whole = WholeGateway(directory / "data", *changes).start()
        self.whole.service.read_again = self.read
        self.control = Control(
            self.whole.service.reloading,
            self.whole.service.upstreams,
            self.whole.service.bridge,
            self.whole.service.tokens,
            self.read,
            self.whole.service.clock.now_ms,
            self.whole.service.door,
            self.whole.service.backup,
            kept=self.whole.service.faces.kept,
            let_go=self.whole.service.letting_go.ask,
            moves=self.whole.service.moves,
            later=self.whole.reactor,
            pieces=Pieces(self.whole.reactor),
            answers=Answers(Pieces(self.whole.reactor), Account()),
        )

    def read(self) -> Settings:
        self.file.write_text(yaml.safe_dump(self.raw))
        return load(self.file)

    def files_are_read(self) -> None:
        service = self.whole.service
        service.files.keep(read_all(kept(service.reloading.settings)))

    def reload(self) -> str:
        change = self.whole.service.reloading.change
        return str(self.whole.result(change("a reload", self.read(), SIGNALLED, configured=True)))

    def ask(self, verb: str, body: object = None, token: str = "secret") -> tuple[int, Any]:
        request, answer = self.begin(verb, body, token)
        self.whole.run()
        octets = answer if isinstance(answer, bytes) else b"".join(request.written)
        told = json.loads(octets) if octets.startswith(b"{") else None
        return request.responseCode or 200, told

    def begin(self, verb: str, body: object = None, token: str = "secret") -> tuple[Any, object]:
        request: Any = DummyRequest([b"ctl", verb.encode()])
        request.path = b"/ctl/" + verb.encode()
        request.channel = None
        if token:
            request.requestHeaders.addRawHeader(b"authorization", b"Bearer " + token.encode())
        request.content = io.BytesIO(json.dumps({} if body is None else body).encode())
        render = self.control.render_GET if body is None else self.control.render_POST
        return request, render(request)

    def rule(self, at: int) -> dict[str, Any]:
        _code, told = self.ask("status")
        found: dict[str, Any] = told["rules"][at]
        return found


@pytest.fixture
def stay(tmp_path: pathlib.Path) -> Stay:
    return Stay(tmp_path)


def test_keys_that_need_a_restart_are_named(stay: Stay) -> None:
    stay.raw["data_directory"] = "/elsewhere"
    stay.raw["limits"] = {"links": 5}
    stay.raw["logging"] = {"level": "debug", "levels": {"store": "warn"}, "format": "json"}
    paths = [path for path, _ in fixed(stay.whole.service.settings, stay.read())]
    assert paths == ["data_directory", "limits.links", "logging.format"]
    with pytest.raises(ConfigurationError):
        stay.reload()
    assert stay.whole.service.settings.logging.level == "info"


def test_a_wrong_file_changes_nothing(stay: Stay) -> None:
    before = stay.whole.service.reloading.settings
    stay.raw["nodes"] = [{"queue": "far", "upstream": "nowhere"}]
    stay.whole.service.reload()
    stay.whole.run()
    assert stay.whole.service.reloading.settings is before
    assert stay.whole.service.counts.changes == {"done": 0, "refused": 1}


def test_users_and_certificates_are_read_anew(stay: Stay) -> None:
    service = stay.whole.service
    assert service.authentication.passwords is None
    users = stay.directory / "users.yaml"
    write_users(users, {"joe": make_user("secret", iterations=4096)})
    stay.raw["users_file"] = str(users)
    stay.reload()
    assert service.authentication.passwords is not None
    assert not service.authentication.anonymous_allowed
    users.unlink()
    with pytest.raises(ConfigurationError):
        stay.reload()
    assert service.authentication.passwords is not None


def test_a_reload_sends_clients_elsewhere_from_then_on_and_lets_them_stay_again(
    stay: Stay,
) -> None:
    faces = stay.whole.service.faces
    assert faces.elsewhere == {}
    stay.raw["elsewhere"] = {
        "default": {"redirect": "amqps://b.example", "known_hosts": ["amqp://[::1]:5673"]}
    }
    assert stay.reload() == "done"
    b, c = Place(True, "b.example", 5671), Place(False, "::1", 5673)
    assert faces.elsewhere == {"default": Elsewhere(b, [c])}
    stay.raw["elsewhere"] = {}
    assert stay.reload() == "done"
    assert faces.elsewhere == {}


def test_clients_of_a_virtual_host_that_is_not_there_are_sent_nowhere(stay: Stay) -> None:
    stay.raw["elsewhere"] = {"none": {"redirect": "amqp://b.example"}}
    with pytest.raises(ConfigurationError) as refused:
        stay.read()
    assert refused.value.problems == [
        ("elsewhere.none", "there is no virtual host of that name"),
    ]


def test_a_reload_warns_of_what_others_can_read(stay: Stay) -> None:
    stay.token.chmod(0o666)
    with capturedLogs() as captured:
        stay.reload()
    warned = [str(formatEvent(event)) for event in captured if "line" in event]
    assert any(line.startswith("admin_token_file: other users") for line in warned)


def test_upstreams_come_change_and_go(stay: Stay) -> None:
    upstreams = stay.whole.service.upstreams
    a, b = upstreams.upstreams["a"], upstreams.upstreams["b"]
    dialers = dict(upstreams.dialers)
    stay.raw["upstreams"] = {
        "a": UPSTREAMS["a"],
        "b": {"hosts": ["amqp://127.0.0.1:3"]},
        "c": {"hosts": ["amqp://127.0.0.1:4"]},
    }
    stay.reload()
    assert upstreams.upstreams["a"] is a and upstreams.dialers["a"] is dialers["a"]
    assert (
        upstreams.upstreams["b"] is not b
        and upstreams.upstreams["b"].context.counts is b.context.counts
    )
    stay.whole.pass_time(5)
    assert str(upstreams.dialers["b"].hosts[0]) == "amqp://127.0.0.1:3"
    stay.raw["upstreams"] = {"b": stay.raw["upstreams"]["b"]}
    stay.raw["nodes"] = [{"queue": "far", "upstream": "b"}]
    stay.reload()
    stay.whole.pass_time(5)
    assert sorted(upstreams.dialers) == sorted(upstreams.upstreams) == ["b"]
    assert "upstream.a" not in stay.whole.service.bridge.default_host.topology.exchanges
    stay.whole.stop()


class Waiter:
    def __init__(self) -> None:
        self.answers: list[Refusal | None] = []

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        self.answers.append(refusal)


def test_whoever_waits_for_an_upstream_that_is_gone_is_told_in_time(stay: Stay) -> None:
    waiter = Waiter()
    assert stay.whole.service.bridge.default_host.reaching.look_up("far", waiter, 1)
    stay.raw["upstreams"] = {"b": UPSTREAMS["b"]}
    stay.raw["nodes"] = [{"queue": "far", "upstream": "b"}]
    stay.reload()
    for _ in range(140):
        stay.whole.pass_time(0.25)
    assert len(waiter.answers) == 1 and waiter.answers[0] is not None
    stay.whole.stop()


def test_ctl_wants_the_token_and_is_not_there_without_one(stay: Stay) -> None:
    wrong = {"problems": [{"key": "", "problem": "this is not its admin token"}]}
    assert stay.ask("status", token="wrong") == (401, wrong)
    assert stay.ask("pause", {"node": "far"}, token="")[0] == 401
    assert stay.ask("nothing")[0] == 404
    assert stay.ask("nothing", {})[0] == 404
    assert stay.ask("reload")[0] == stay.ask("status", {})[0] == 405
    stay.token.write_text("other")
    stay.files_are_read()
    assert stay.ask("status")[0] == 401
    assert stay.ask("status", token="other")[0] == 200
    stay.token.write_text("")
    stay.files_are_read()
    assert stay.ask("status", token="")[0] == 401
    assert stay.ask("status")[0] == 401
    stay.token.unlink()
    stay.files_are_read()
    assert stay.ask("status")[0] == 503
    stay.token.write_text("x")
    del stay.raw["admin_token_file"]
    stay.reload()
    assert stay.ask("status", token="x")[0] == 404


def test_a_rule_is_paused_and_resumed_until_the_next_reload(stay: Stay) -> None:
    assert stay.rule(0) == {
        "key": "nodes.0",
        "kind": "queue",
        "pattern": "far",
        "virtual_host": None,
        "upstream": "a",
        "spool": False,
        "state": "active",
        "changed_by_ctl": False,
        "nodes": 1,
        "waiting": 0,
        "unsettled": 0,
        "shadow": None,
    }
    assert stay.ask("pause", {"node": "queue:far"}) == (200, {"done": "done"})
    assert (stay.rule(0)["state"], stay.rule(0)["changed_by_ctl"]) == ("paused", True)
    counts = stay.whole.service.counts
    assert (counts.changes["done"], counts.paused_rules) == (1, 1)
    with capturedLogs() as captured:
        assert stay.ask("resume", {"node": "nodes.0"})[0] == 200
        stay.ask("switch", {"node": "far", "upstream": "z"})
    told = [formatEvent(event) for event in captured]
    assert "ctl resume 'nodes.0': done" in told
    assert told[-1].startswith("ctl switch 'far' 'z': nothing changed: nodes.0.upstream:")
    assert stay.rule(0)["state"] == "active"
    stay.ask("pause", {"node": "far"})
    assert stay.ask("reload", {})[0] == 200
    assert (stay.rule(0)["state"], stay.rule(0)["changed_by_ctl"]) == ("active", False)


def test_a_backup_is_made_where_it_is_asked_for(stay: Stay, tmp_path: pathlib.Path) -> None:
    request, _later = stay.begin("backup", {"directory": str(tmp_path / "copy")})
    stay.whole.wait_until(lambda: bool(request.written))
    told = json.loads(b"".join(request.written))["done"]
    assert told.startswith(f"{tmp_path}/copy: the store")
    assert (tmp_path / "copy" / "store.sqlite").exists()
    assert stay.ask("backup", {})[0] == 422
    assert stay.ask("backup", {"directory": "here"})[0] == 422
    request, _later = stay.begin("backup", {"directory": str(tmp_path / "copy")})
    stay.whole.wait_until(lambda: bool(request.written))  # only a thread looks at that disk
    assert (request.responseCode, b"is there already" in request.written[0]) == (409, True)
    assert stay.ask("backup", {"directory": "/x"}, token="wrong")[0] == 401


def test_what_waits_moves_along_with_its_rule(stay: Stay) -> None:
    client = stay.whole.connect_0_10()
    sent: Deferred[Any] = client.send("far", LETTER)
    stay.whole.run()
    assert stay.rule(0)["waiting"] == 1
    code, told = stay.ask("switch", {"node": "far", "upstream": "b"})
    doubt = "not known whether b has queue 'far' of virtual host 'default' (far)"
    behind = "what a holds of 'far' stays there, and it does not say how much"
    done = f"done; {doubt}: it is not connected; {behind} (`migrate move` takes it along)"
    assert (code, told) == (200, {"done": done})
    stay.whole.run()
    assert (stay.rule(0)["upstream"], stay.rule(0)["waiting"]) == ("b", 1)
    assert not sent.called


def test_what_cannot_be_is_answered_with_every_problem(stay: Stay) -> None:
    assert stay.ask("switch", {"node": "far", "upstream": "z"}) == (
        422,
        {"problems": [{"key": "nodes.0.upstream", "problem": 'there is no upstream "z"'}]},
    )
    assert stay.ask("pause", {"node": "z"}) == (422, {"problems": [no_rule("'z'")]})
    assert stay.ask("pause", {})[0] == 422
    assert stay.ask("pause", [])[0] == 422
    stay.raw["nodes"] = []
    client = stay.whole.connect_0_10()
    client.send("far", LETTER)
    stay.whole.run()
    code, told = stay.ask("reload", {})
    assert code == 422
    assert "must be empty" in told["problems"][0]["problem"]


def no_rule(told: str) -> dict[str, str]:
    return {"key": "nodes", "problem": f"there is no rule {told}"}


def test_the_name_of_a_node_is_answered_with_the_rule_that_fits_it(stay: Stay) -> None:
    stay.raw["nodes"] = [
        {"queue": "audit.*", "upstream": "a"},
        {"queue": "*", "upstream": None},
        {"exchange": "audit.*", "upstream": "b"},
    ]
    stay.reload()
    fits = "the rule for that name is queue:audit.* (nodes.0) or exchange:audit.* (nodes.2)"
    code, told = stay.ask("pause", {"node": "audit.42"})
    assert (code, told) == (422, {"problems": [no_rule(f"'audit.42'; {fits}")]})
    assert [rule["changed_by_ctl"] for rule in stay.ask("status")[1]["rules"]] == [False] * 3


def test_one_change_is_done_at_a_time_and_none_when_the_gateway_stops(stay: Stay) -> None:
    service = stay.whole.service
    queue = service.bridge.default_host.topology.find_queue("far")
    assert queue is not None
    queue.unsettled = 1  # something that never settles
    stay.raw["nodes"][0] = {"queue": "far", "upstream": "b"}
    done = service.reloading.change("a reload", stay.read(), SIGNALLED, configured=True)
    failures: list[Any] = []
    done.addErrback(failures.append)
    with pytest.raises(BusyError):
        stay.reload()
    assert stay.ask("pause", {"node": "far"})[0] == 409
    assert stay.rule(0)["state"] == "moving"
    service.reloading.stop()
    stay.whole.pass_time(1)
    assert failures[0].check(BusyError)
    assert stay.rule(0)["state"] == "active"
    queue.unsettled = 0


class Slow:
    """A configuration whose files take as long to read as the test says."""

    def __init__(self, stay: Stay) -> None:
        self.read = Event()
        self.whole = stay.whole
        self.thread = ""

        def read_again() -> Settings:
            self.thread = current_thread().name
            assert self.read.wait(THREAD_TIMEOUT_S)
            return stay.read()

        self.whole.service.read_again = read_again

    def go_on(self) -> None:
        self.read.set()
        self.whole.wait_until(lambda: not self.whole.service.reloading.reading)


def test_everything_goes_on_while_files_are_read_and_then_all_of_it_counts(stay: Stay) -> None:
    service, whole = stay.whole.service, stay.whole
    client = whole.connect_0_10()
    whole.result(client.declare_queue("q"))
    users = stay.directory / "users.yaml"
    write_users(users, {"joe": make_user("secret", iterations=4096)})
    rules = stay.directory / "access.yaml"
    rules.write_text("rules: [{deny: consume}, {allow: all}]")
    stay.raw |= {"users_file": str(users), "access": {"file": str(rules)}}
    stay.raw["nodes"][0] = {"queue": "far", "upstream": "b"}
    slow = Slow(stay)
    service.reload()
    sent = client.send("q", LETTER)
    whole.let_happen(lambda: bool(sent.called))
    assert sent.result == "accepted"
    assert (service.ready(), service.reloading.under_way) == (None, "a reload")
    assert slow.thread != current_thread().name
    with pytest.raises(BusyError, match="a reload is under way"):
        service.reloading.reload(stay.read, SIGNALLED)
    assert service.authentication.passwords is None
    assert service.upstreams.placements.rules.rules[0].upstream == "a"
    slow.go_on()
    assert service.authentication.passwords is not None
    assert service.faces.access.in_force.rules is not None
    assert stay.rule(0)["upstream"] == "b"
    assert service.counts.changes == {"done": 1, "refused": 1}


def test_files_that_do_not_answer_are_told_of_and_the_gateway_goes_on(stay: Stay) -> None:
    service, whole = stay.whole.service, stay.whole
    slow = Slow(stay)
    with capturedLogs() as captured:
        service.reload()
        whole.reactor.advance(READING_S - 0.1)
        assert not [event for event in captured if "a reload" in str(formatEvent(event))]
        whole.reactor.advance(0.1)
    (line,) = [told for told in map(formatEvent, captured) if told and "waits" in told]
    assert line.startswith("a reload waits: what it takes has not been read for 5 s; a file, or")
    slow.go_on()
    with capturedLogs() as captured:
        service.reload()
        whole.run()
        whole.pass_time(2 * READING_S)
    told = [str(formatEvent(event)) for event in captured]
    assert "configuration reloaded: done" in told
    assert not [line for line in told if "a reload waits" in line]


def test_what_is_read_while_the_gateway_stops_does_not_count(stay: Stay) -> None:
    service = stay.whole.service
    stay.raw["nodes"][0] = {"queue": "far", "upstream": "b"}
    slow = Slow(stay)
    with capturedLogs() as captured:
        service.reload()
        service.reloading.stop()
        slow.go_on()
    assert stay.rule(0)["upstream"] == "a"
    told = [formatEvent(event) for event in captured]
    assert "configuration not reloaded: the gateway stops" in told
    assert service.counts.changes == {"done": 0, "refused": 1}


def test_a_defect_while_files_are_read_is_told_and_the_next_reload_is_done(stay: Stay) -> None:
    service = stay.whole.service

    def broken() -> Settings:
        raise RuntimeError("a defect")

    service.read_again = broken
    with capturedLogs() as captured:
        service.reload()
        stay.whole.run()
    assert [event["log_failure"].value.args for event in captured if "log_failure" in event] == [
        ("a defect",)
    ]
    assert stay.reload() == "done"


NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")


class Far:
    """The container behind an upstream; by hand, for nobody listens there."""

    def __init__(self, stay: Stay, name: str, *missing: str) -> None:
        self.whole = stay.whole
        now_ms = self.whole.service.clock.now_ms
        self.whole.service.upstreams.dialers[name].stop()
        upstream = self.whole.service.upstreams.upstreams[name]
        upstream.context.settings.mechanisms = lambda secure: []  # it asks for none
        self.face = upstream.connect(now_ms())
        self.broker = Broker(now_ms())
        self.broker.refusals.update(dict.fromkeys(missing, NOT_FOUND))
        self.talk()

    def talk(self) -> None:
        for _ in range(10):
            self.whole.run()
            now_ms = self.whole.service.clock.now_ms()
            self.broker.receive(self.face.data_to_send(), now_ms)
            self.face.receive_data(self.broker.connection.data_to_send(), now_ms)


def test_a_switch_to_where_a_queue_is_missing_changes_nothing_and_says_what_is(
    stay: Stay,
) -> None:
    far = Far(stay, "b", "far")
    request, _ = stay.begin("switch", {"node": "far", "upstream": "b"})
    assert stay.ask("pause", {"node": "far"})[0] == 409
    assert stay.rule(0)["state"] == "active"  # it is not stopped only to be asked about
    far.talk()
    problem = "b refuses queue 'far' of virtual host 'default' (far): no such node"
    told = json.loads(b"".join(request.written))
    assert request.responseCode == 409
    assert told == {"problems": [{"key": "nodes.0.upstream", "problem": problem}]}
    assert (stay.rule(0)["upstream"], stay.rule(0)["changed_by_ctl"]) == ("a", False)
    assert stay.whole.service.counts.changes == {"done": 0, "refused": 2}
    far.broker.refusals.clear()
    request, _ = stay.begin("switch", {"node": "far", "upstream": "b"})
    far.talk()
    assert json.loads(b"".join(request.written))["done"].startswith("done; what a holds of 'far'")
    assert stay.rule(0)["upstream"] == "b"


def test_a_switch_to_an_upstream_that_does_not_answer_tells_what_is_not_known(stay: Stay) -> None:
    Far(stay, "b")
    request, _ = stay.begin("switch", {"node": "far", "upstream": "b"})
    stay.whole.wait_until(lambda: not stay.whole.service.reloading.reading)
    stay.whole.pass_time(ASK_MS / 1000)
    told = json.loads(b"".join(request.written))["done"]
    assert told.startswith("done; not known whether b has queue 'far'")
    assert stay.rule(0)["upstream"] == "b"


def test_a_gateway_that_stops_while_it_asks_switches_nothing(stay: Stay) -> None:
    far = Far(stay, "b")
    request, _ = stay.begin("switch", {"node": "far", "upstream": "b"})
    stay.whole.service.reloading.stop()
    far.talk()
    assert request.responseCode == 409
    assert stay.whole.service.upstreams.placements.rules.rules[0].upstream == "a"


def test_a_reload_moves_what_is_missing_and_says_so_in_the_log(stay: Stay) -> None:
    far = Far(stay, "b", "far")
    stay.raw["nodes"][0] = {"queue": "far", "upstream": "b"}
    with capturedLogs() as captured:
        assert stay.reload() == "done"
        far.talk()
    told = [formatEvent(event) for event in captured]
    problem = "b refuses queue 'far' of virtual host 'default' (far): no such node"
    assert told.count(f"after a reload: {problem}") == 1
    assert stay.rule(0)["upstream"] == "b"


# What is done at once, and needs no other settings.


def test_a_connection_is_shown_and_closed_by_the_admin_port(stay: Stay) -> None:
    client = stay.whole.connect_1_0()
    stay.whole.result(client.ready())
    lost: list[str] = []
    client.lost().addErrback(lambda failure: lost.append(str(failure.value)))
    code, told = stay.ask("connections")
    (one,) = told["connections"]
    assert (code, one["number"], one["protocol"]) == (200, 1, "1.0")
    assert stay.ask("close", {"connection": "1"})[0] == 422
    assert stay.ask("close", {"connection": True})[0] == 422
    assert stay.ask("close", {"connection": 2})[0] == 422
    assert stay.ask("close", {"connection": 1}, token="wrong")[0] == 401
    code, told = stay.ask("close", {"connection": 1, "reason": "moved away"})
    assert (code, lost) == (
        200,
        ["the server closed the connection: moved away (amqp:connection:forced)"],
    )
    assert told["done"] == "connection 1 of no user from 127.0.0.1:40000 is closed"
    stay.whole.pass_time(5)
    assert stay.ask("connections")[1] == {"connections": []}


def test_a_subscription_is_given_by_the_admin_port_and_stays_given(stay: Stay) -> None:
    host = stay.whole.service.bridge.default_host
    settings = QueueSettings(durable=True, unmarked=True)
    host.declaring.declare_queue("app.sub", settings, Session(1))
    host.bindings.bind("app.sub", "amq.topic", "news", {}, b"")
    asked = {"queue": "app.sub", "user": "ann", "container": "app", "link": "sub"}
    assert stay.ask("assign", asked | {"container": ""})[0] == 422
    assert stay.ask("assign", asked | {"virtual_host": "nowhere"})[0] == 422
    assert stay.ask("assign", asked)[0] == 200
    (told,) = stay.ask("subscriptions")[1]["subscriptions"]
    assert (told["user"], told["container"], told["link"]) == ("ann", "app", "sub")
    stay.whole.stop()
    again = WholeGateway(stay.directory / "data").start()
    found = again.service.bridge.default_host.durable_subscriptions.find(
        Subscriber("ann", "app", "sub")
    )
    assert found is not None
    assert found.name == "app.sub"
    again.stop()


def test_a_shadow_is_begun_and_ended_and_nobody_who_publishes_waits_for_it(stay: Stay) -> None:
    stay.raw["nodes"] = [{"queue": "here", "upstream": None}]
    stay.reload()
    client = stay.whole.connect_0_10()
    declaring = stay.whole.service.bridge.default_host.declaring
    declaring.declare_queue("here", QueueSettings(durable=True), Session(1))
    stay.whole.run()
    code, told = stay.ask("shadow", {"node": "here", "upstream": "b", "share": 1})
    doubt = "not known whether b has the shadow of queue 'here' of virtual host 'default'"
    assert (code, told["done"]) == (200, f"done; {doubt} (here.shadow): it is not connected")
    stay.whole.result(client.send("here", LETTER))  # it is stored, and that is all
    shadow = stay.rule(0)["shadow"]
    assert (shadow["upstream"], shadow["queue"], shadow["waiting"]) == ("b", "{queue}.shadow", 1)
    _code, told = stay.ask("status")
    assert told["shadow_copies"] == {"mirrored": 1, "dropped": 0}
    (b,) = (each for each in told["upstreams"] if each["name"] == "b")
    assert (b["shadowed"], b["spooled"], b["oldest_s"]) == (1, 0, None)
    assert stay.ask("shadow", {"node": "here", "stop": True}) == (200, {"done": "done"})
    assert stay.rule(0)["shadow"] is None
    for wrong in ({}, {"upstream": "z"}, {"upstream": "b", "share": 2}, {"upstream": 1}):
        assert stay.ask("shadow", {"node": "here", **wrong})[0] == 422


def test_other_addresses_of_what_stays_at_its_upstream_are_those_of_the_new_rules(
    stay: Stay,
) -> None:
    stay.raw["nodes"] = [{"queue": "far", "upstream": "a", "address": "first.{queue}"}]
    stay.reload()
    stay.raw["nodes"] = [{"queue": "far", "upstream": "a", "address": "second.{queue}"}]
    stay.reload()
    links = stay.whole.service.upstreams.upstreams["a"].context.links
    addresses = [slot.configured for slot in links.slots]
    assert addresses.count("second.far") == 2  # of what is sent, and of who asks whether it exists
