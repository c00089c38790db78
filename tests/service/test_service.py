"""Start and stop of a whole gateway, on a reactor of memory."""

import json
import os
import pathlib
import threading
from typing import Any

import pytest
from support.rules import rule
from support.whole_gateway import ThreadedMemoryReactor, WholeGateway
from translate.cases import U, old_message, s
from twisted.internet.error import CannotListenError
from twisted.logger import capturedLogs, formatEvent
from twisted.web.test.requesthelper import DummyRequest

from gateway import __version__
from gateway.amqp_1_0.types import to_bytes
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.verify import WHOLE, verify
from gateway.clients.client import ClientError, Delivered, Login, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.config import Address
from gateway.errors import ConfigurationError, StartupError
from gateway.metrics import METRICS, OBJECT_METRICS
from gateway.net.admin.by_queue import ByQueue
from gateway.net.listening.users import make_user, write_users
from gateway.net.stopping import Stage
from gateway.net.upstreams.reload import SIGNALLED
from gateway.service.admin import site_of
from gateway.service.form import form
from gateway.translate.mapping_rows import ROWS

DURABLE = Letter(body=Typed("string", "kept"), durable=True)


@pytest.fixture
def whole(tmp_path: pathlib.Path) -> WholeGateway:
    return WholeGateway(tmp_path / "data").start()


def receive_all(whole: WholeGateway, client: object, address: str) -> list[Delivered]:
    came: list[Delivered] = []
    whole.result(client.receive(Subscription(address), came.append))  # type: ignore[attr-defined]
    return came


def test_a_gateway_listens_where_it_is_told_and_says_that_it_is_ready(whole: WholeGateway) -> None:
    (amqp, admin) = whole.reactor.tcpServers
    assert (amqp[0], amqp[3], admin[3]) == (0, "127.0.0.1", "127.0.0.1")
    assert whole.service.addresses == {
        "amqp": Address("127.0.0.1", 0),
        "admin": Address("127.0.0.1", 0),
    }
    assert whole.service.ready() is None
    whole.stop()
    assert whole.service.exit_code == 0


def test_what_has_no_price_is_counted_by_the_thread_s_own_clock(whole: WholeGateway) -> None:
    worked = whole.service.turns.worked_units
    before = worked()
    while worked() == before:
        pass
    whole.stop()


def test_a_stop_that_breaks_off_ends_the_process(whole: WholeGateway) -> None:
    service, given_up = whole.service, list[BaseException]()
    error = ZeroDivisionError()
    service.turns.give_up = given_up.append

    def broken() -> None:
        raise error

    stop, service.duties.stop = service.duties.stop, broken  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="does not stop"):
        whole.stop()
    assert given_up == [error]
    service.duties.stop = stop  # type: ignore[method-assign]
    service._finish()


def test_messages_cross_in_both_directions(whole: WholeGateway) -> None:
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q", durable=True))
    at_new = receive_all(whole, new, "q")
    assert whole.result(old.send("q", DURABLE)) == "accepted"
    assert at_new[0].letter.body == Typed("binary", b"kept")
    at_new[0].settle("accept")
    whole.run()
    whole.guests[1].hang_up()
    whole.run()
    at_old = receive_all(whole, old, "q")
    other = whole.connect_1_0()
    assert whole.result(other.send("q", DURABLE)) == "accepted"
    assert at_old[0].letter.body == Typed("string", "kept")
    at_old[0].settle("accept")
    whole.stop()


@rule("1.0", "3.2.1", "durable-survives")
@rule("0-10", "message", "persistent-message")
def test_what_was_confirmed_is_there_again_after_a_restart(tmp_path: pathlib.Path) -> None:
    first = WholeGateway(tmp_path).start()
    old = first.connect_0_10()
    first.result(old.declare_queue("q", durable=True))
    assert first.result(old.send("q", DURABLE)) == "accepted"
    tag = first.service.faces.federation_tag
    first.stop()
    second = WholeGateway(tmp_path).start()
    assert second.service.faces.federation_tag == tag
    assert second.service.recovered.count == 1
    came = receive_all(second, second.connect_1_0(), "q")
    assert came[0].letter.durable
    second.stop()


def test_the_audit_log_of_a_run_is_whole_and_says_how_it_ended(tmp_path: pathlib.Path) -> None:
    for _ in range(2):
        WholeGateway(tmp_path).start().stop()
    log = tmp_path / "audit"
    assert verify(log) == WHOLE
    said = [
        record["kind"]
        for path in segment_paths(log)
        for record in records(Segment(path.name, path.read_bytes()))
    ]
    assert said.count("incarnation-started") == said.count("incarnation-stopped") == 2
    assert (said[0], said[-1]) == ("incarnation-started", "incarnation-stopped")


def test_a_second_gateway_on_the_same_directory_is_refused(whole: WholeGateway) -> None:
    with pytest.raises(StartupError, match="used by another process"):
        WholeGateway(whole.service.settings.data_directory)
    whole.stop()


def test_a_directory_that_cannot_be_used_is_one_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match="cannot use data directory"):
        WholeGateway(tmp_path / "file" / "data")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gateway-id").write_text("not a uuid")
    with pytest.raises(StartupError, match="gateway-id"):
        WholeGateway(tmp_path / "data")


def test_a_port_in_use_is_one_line_and_the_data_directory_is_let_go(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(*_: object, **__: object) -> None:
        raise CannotListenError("127.0.0.1", 0, OSError(98, "Address already in use"))

    told = r"cannot listen on 127.0.0.1:0: Address already in use"
    with monkeypatch.context() as patch, pytest.raises(StartupError, match=told):
        patch.setattr(ThreadedMemoryReactor, "listenTCP", taken)
        WholeGateway(tmp_path)
    WholeGateway(tmp_path).start().stop()


def test_a_users_file_that_cannot_be_read_stops_the_start(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    users.write_text("alice: nonsense")
    with pytest.raises(ConfigurationError):
        WholeGateway(tmp_path / "data", f"users_file={users}")


def test_no_thread_keeps_a_process_that_was_not_stopped(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    write_users(users, {"alice": make_user("secret", 10)})
    whole = WholeGateway(tmp_path / "data", f"users_file={users}").start()
    whole.connect_0_10(Login("alice", "secret"))
    whole.wait_until(lambda: whole.service.authentication.accepted["PLAIN"] == 1)
    threads = [thread for thread in threading.enumerate() if "passwords" in thread.name]
    assert threads
    assert all(thread.daemon for thread in threads)
    whole.stop()


def test_passwords_are_checked_for_both_protocols(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    write_users(users, {"alice": make_user("secret", 10)})
    whole = WholeGateway(tmp_path / "data", f"users_file={users}").start()
    counts = whole.service.authentication
    for number, connect in enumerate((whole.connect_0_10, whole.connect_1_0), 1):
        good = connect(Login("alice", "secret"))
        whole.wait_until(lambda number=number: counts.accepted["PLAIN"] == number)
        whole.result(good.ready())
        bad = connect(Login("alice", f"wrong {number}"))
        whole.wait_until(lambda number=number: counts.refused["PLAIN"] == number)
        whole.pass_time(3)
        with pytest.raises(ClientError):
            whole.result(bad.ready())
        with pytest.raises(ClientError):
            whole.result(connect().ready())
    assert whole.service.authentication.accepted["PLAIN"] == 2
    assert whole.service.authentication.refused["PLAIN"] == 2
    whole.stop()


@rule("0-10", "connection.open.virtual-host", "separation")
def test_a_virtual_host_is_reached_by_name_and_has_its_own_nodes(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path, "virtual_hosts=[{name: main}, {name: other}]").start()
    main = whole.connect_0_10()
    other = whole.connect_0_10(Login(virtual_host="other"))
    whole.result(main.declare_queue("q"))
    came = receive_all(whole, whole.connect_1_0(Login(virtual_host="main")), "q")
    assert came == []
    with pytest.raises(ClientError):
        receive_all(whole, whole.connect_1_0(Login(virtual_host="other")), "q")
    whole.result(other.declare_queue("q"))
    whole.stop()


def test_every_metric_has_a_reader_and_the_numbers_are_those_of_the_run(
    whole: WholeGateway,
) -> None:
    old = whole.connect_0_10()
    whole.result(old.declare_queue("q"))
    whole.result(old.send("q", Letter(body=Typed("string", "x"))))
    new = whole.connect_1_0()
    with pytest.raises(ClientError):
        whole.result(new.send("nowhere", Letter(body=Typed("string", "x"))))
    collector = whole.service.collector
    collector.take()
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in collector.collect()
        for sample in family.samples
    }
    assert samples["gateway_connections", "0-10"] == 1
    assert samples["gateway_sessions", "0-10"] == 1
    assert samples["gateway_queue_depth_messages",] == 1
    assert samples["gateway_messages_total", "queued", "entered"] == 1
    errors = {name: value for name, value in samples.items() if "session_errors" in name[0]}
    assert {name: value for name, value in errors.items() if value} == {
        ("gateway_session_errors_total", "1.0", "link", "not_found"): 1
    }
    assert errors["gateway_session_errors_total", "0-10", "session", "protocol"] == 0
    assert ("gateway_session_errors_total", "0-10", "link", "protocol") not in errors
    assert samples["gateway_ready",] == 1
    assert samples["gateway_build_info", __version__, form()] == 1
    assert {family.name for family in collector.collect()} == {
        row.name.removesuffix("_total") for row in METRICS
    }
    assert set(ByQueue(whole.service.bridge, lambda: 0).readers()) == {
        row.name for row in OBJECT_METRICS
    }
    whole.stop()


def test_metrics_are_told_while_the_reactors_own_threads_wait_for_names(
    whole: WholeGateway,
) -> None:
    request: Any = DummyRequest([b"metrics"])
    request.channel = None
    site = site_of(whole.service, whole.service.collector)
    site.resource.children[b"metrics"].render_GET(request)
    whole.let_happen(lambda: bool(request.written))
    text = b"".join(request.written)
    assert b"gateway_ready 1.0" in text
    assert b'gateway_data_bytes{part="audit"}' in text
    whole.stop()


def test_the_event_loops_lag_is_measured(whole: WholeGateway) -> None:
    whole.pass_time(1)
    whole.reactor.rightNow += 0.3  # the loop was busy
    whole.pass_time(0.7)
    lag = whole.service.counts.lag
    assert lag.cumulative()[-1] == ("+Inf", 2)
    assert lag.total_s == pytest.approx(0.0, abs=0.31)
    whole.stop()


def test_a_timer_that_holds_the_event_loop_is_told_of(whole: WholeGateway) -> None:
    def hold() -> None:
        whole.reactor.rightNow += 0.25

    whole.reactor.callLater(0.05, hold)
    whole.pass_time(0.05)
    stalls = whole.service.counts.stalls  # where it did not work, it is the machine's
    assert stalls["other"] + stalls["machine"] == sum(stalls.values()) == 1
    whole.stop()


def test_checkpoints_are_written_again_and_again(whole: WholeGateway) -> None:
    before = whole.service.bridge.audit.next_sequence
    whole.pass_time(60)
    whole.pass_time(60)
    assert whole.service.bridge.audit.next_sequence >= before + 2
    whole.stop()


def test_a_stop_lets_a_client_settle_what_it_has(whole: WholeGateway) -> None:
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q", durable=True))
    came = receive_all(whole, new, "q")
    whole.result(old.send("q", DURABLE))
    whole.service.stop()
    whole.run()
    assert whole.service.ready() == "draining"
    assert whole.service.stopping.stage == Stage.DRAINING
    whole.pass_time(9)
    assert not whole.stopped
    came[0].settle("accept")
    whole.run()
    whole.pass_time(3)
    assert whole.stopped
    assert whole.service.bridge.counts.accepted == 1
    assert all(guest.over for guest in whole.guests)


def test_a_stop_does_not_wait_for_ever_and_the_unsettled_is_kept(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path, "drain_timeout=5s").start()
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q", durable=True))
    receive_all(whole, new, "q")
    whole.result(old.send("q", DURABLE))
    whole.service.stop()
    whole.pass_time(4.9)
    assert whole.service.stopping.stage == Stage.DRAINING
    whole.pass_time(0.2)
    whole.pass_time(3)
    assert whole.stopped
    assert WholeGateway(tmp_path).service.recovered.count == 1


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_a_stop_is_not_held_up_by_a_client_that_settles_nothing(
    tmp_path: pathlib.Path, protocol: str
) -> None:
    whole = WholeGateway(tmp_path, "drain_timeout=1h").start()
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q", durable=True))
    receive_all(whole, old if protocol == "0-10" else new, "q")
    whole.result(new.send("q", DURABLE))
    whole.service.stop()
    whole.run()
    whole.pass_time(9)
    assert whole.service.stopping.stage == Stage.DRAINING
    for _ in range(5):
        whole.pass_time(1)
    assert whole.stopped
    again = WholeGateway(tmp_path).start()
    (came,) = receive_all(again, again.connect_1_0(), "q")
    assert came.letter.redelivered
    again.stop()


def test_a_second_signal_goes_straight_to_the_close(whole: WholeGateway) -> None:
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q"))
    receive_all(whole, new, "q")
    whole.result(old.send("q", DURABLE))
    whole.service.stop()
    whole.run()
    assert not whole.stopped
    whole.service.stop()
    whole.run()
    whole.pass_time(3)
    assert whole.stopped


def test_clients_are_hung_up_on_so_that_they_come_back(whole: WholeGateway) -> None:
    clients = whole.connect_0_10(), whole.connect_1_0()
    whole.stop()
    for client in clients:
        with pytest.raises(ClientError, match=r"connection ended: .* closed cleanly"):
            whole.result(client.send("q", DURABLE))


def test_a_new_client_is_not_admitted_while_draining(whole: WholeGateway) -> None:
    old, new = whole.connect_0_10(), whole.connect_1_0()
    whole.result(old.declare_queue("q"))
    receive_all(whole, new, "q")
    whole.result(old.send("q", DURABLE))
    whole.service.stop()
    whole.run()
    assert "amqp" not in whole.service.ports.open
    assert "admin" in whole.service.ports.open
    whole.service.stop()
    whole.pass_time(5)
    assert whole.stopped


@pytest.mark.parametrize(
    ("durable", "correlation_id", "misses"),
    [(True, "request-1", 0), (False, None, 1)],
    ids=["durable", "transient"],
)
def test_a_reply_after_a_restart_names_a_durable_request_by_its_own_id(
    tmp_path: pathlib.Path, durable: bool, correlation_id: str | None, misses: int
) -> None:
    first = WholeGateway(tmp_path).start()
    responder, requester = first.connect_0_10(), first.connect_1_0()
    for queue in ("requests", "replies"):
        first.result(responder.declare_queue(queue, durable=True))
    requests = receive_all(first, responder, "requests")
    request = Letter(message_id="request-1", reply_to="replies", durable=durable)
    first.result(requester.send("requests", request))
    asked = requests[0].letter.message_id
    assert asked != "request-1"
    requests[0].settle("accept")
    first.run()
    first.stop()

    second = WholeGateway(tmp_path).start()
    replies = receive_all(second, second.connect_1_0(), "replies")
    reply = Letter(body=Typed("string", "answer"), correlation_id=asked)
    second.result(second.connect_0_10().send("replies", reply))
    assert replies[0].letter.correlation_id == (correlation_id or asked)
    lost = second.service.faces.translated.lost[ROWS["replies.miss"].number]
    assert lost == misses
    second.stop()


def test_selectors_know_the_requests_of_their_own_virtual_host(tmp_path: pathlib.Path) -> None:
    whole = WholeGateway(tmp_path, "virtual_hosts=[{name: main}, {name: other}]").start()
    whole.service.faces.replies_of("main").remember(U, to_bytes(s("request-1")), 0)
    answer = old_message(correlation_id=U)
    answer.arrived_ms = 0
    readers = {name: host.reader for name, host in whole.service.bridge.hosts.items()}
    selected = readers["main"].selectable(answer, "JMSCorrelationID")
    assert selected is not None and selected.value == "request-1"
    unknown = readers["other"].selectable(answer, "JMSCorrelationID")
    assert unknown is not None and unknown.value != "request-1"
    whole.service.stop()


def modes(directory: pathlib.Path) -> dict[str, int]:
    return {
        str(path.relative_to(directory)): path.stat().st_mode & 0o777
        for path in (directory, *directory.rglob("*"))
    }


def test_what_the_gateway_writes_is_its_owners_alone(tmp_path: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        whole = WholeGateway(tmp_path / "data").start()
        found = modes(tmp_path / "data")
        assert {"store.sqlite", "audit", "gateway-id", "lock"} <= set(found)
        assert {name: mode for name, mode in found.items() if mode & 0o077} == {}
        whole.stop()
        for path in (tmp_path / "data").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (tmp_path / "data").chmod(0o755)
        WholeGateway(tmp_path / "data").start().stop()
        found = modes(tmp_path / "data")
        assert found.pop(".") == 0o755  # it was there: perhaps it is not ours
        assert {name: mode for name, mode in found.items() if mode & 0o077} == {}
    finally:
        os.umask(before)


def test_the_salts_of_names_that_nobody_has_outlive_the_process(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    write_users(users, {"alice": make_user("secret", 10)})
    keys = []
    for _ in range(2):
        whole = WholeGateway(tmp_path / "data", f"users_file={users}").start()
        passwords = whole.service.authentication.passwords
        assert passwords is not None
        keys.append(passwords.keys("mallory", "SCRAM-SHA-256"))
        whole.stop()
    assert keys[0] == keys[1]
    (tmp_path / "data" / "login-secret").write_text("00")
    with pytest.raises(StartupError, match="login-secret"):
        WholeGateway(tmp_path / "data", f"users_file={users}")


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_clients_of_both_protocols_prove_their_passwords(
    tmp_path: pathlib.Path, protocol: str, mechanism: str
) -> None:
    users = tmp_path / "users.yaml"
    made = make_user("secret", 10 if mechanism == "PLAIN" else 4096)
    kept = {name: verifier for name, verifier in made.items() if mechanism in ("PLAIN", name)}
    write_users(users, {"alice": kept})
    whole = WholeGateway(tmp_path / "data", f"users_file={users}").start()
    connect = whole.connect_0_10 if protocol == "0-10" else whole.connect_1_0
    counts = whole.service.authentication
    good = connect(Login("alice", "secret"))
    whole.wait_until(lambda: counts.accepted[mechanism] == 1)
    whole.result(good.ready())
    bad = connect(Login("alice", "guess"))
    whole.wait_until(lambda: counts.refused[mechanism] == 1)
    whole.pass_time(3)
    with pytest.raises(ClientError):
        whole.result(bad.ready())
    whole.stop()


def test_our_own_clients_say_that_a_user_is_needed(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    write_users(users, {"alice": make_user("secret", 10)})
    whole = WholeGateway(tmp_path / "data", f"users_file={users}").start()
    for connect in (whole.connect_0_10, whole.connect_1_0):
        with pytest.raises(ClientError, match=r"a user name is needed \(--user\): .*PLAIN"):
            whole.result(connect().ready())
    whole.stop()


def test_no_file_that_the_settings_name_is_touched_by_the_event_loop(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
    named.mkdir()
    for name in ("admin", "metrics", "password", "token", "ca.pem"):
        (named / name).write_text("secret")
    write_users(named / "users", {"ann": make_user("secret")})
    (named / "profile.yaml").write_text("like: artemis\n")
    upstreams = {
        "a": {
            "hosts": ["amqps://127.0.0.1:1"],
            "username": "me",
            "password_file": str(named / "password"),
            "profile": str(named / "profile.yaml"),
            "tls": {"ca": str(named / "ca.pem")},
        },
        "b": {"hosts": ["amqp://127.0.0.1:1"], "token_file": str(named / "token")},
    }
    changes = [
        f"users_file={named}/users",
        f"admin_token_file={named}/admin",
        f"metrics_token_file={named}/metrics",
        f"upstreams={json.dumps(upstreams)}",
        'nodes=[{"queue": "far", "upstream": "a"}]',
    ]
    whole = WholeGateway(tmp_path / "data", *changes).start()
    service = whole.service
    touched: list[str] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def watched(path: Any, *arguments: Any, **more: Any) -> Any:
            main = threading.current_thread() is threading.main_thread()
            if main and str(path).startswith(str(named)):
                touched.append(f"{name} {path}")
            return real(path, *arguments, **more)

        monkeypatch.setattr(os, name, watched)

    watch("open")
    watch("stat")
    for path in ("/ctl/status", "/metrics"):
        assert service.tokens.judge(path, b"Bearer wrong", "192.0.2.1") is not None
        assert service.tokens.judge(path, b"Bearer secret", "192.0.2.2") is None
    assert [each.name() for each in service.upstreams.credentials["a"].mechanisms(True)]
    dialled = service.upstreams.dialers["a"]
    with pytest.raises(ConfigurationError, match="no PEM certificate"):
        dialled.endpoint_for(dialled.hosts[0])
    whole.pass_time(10)
    settings = service.settings
    service.read_again = lambda: settings.model_copy(update={"switch_timeout": 1})
    service.reload()
    whole.run()
    assert service.reloading.settings.switch_timeout == 1
    node = settings.nodes[0].model_copy(update={"paused": True})
    paused = service.settings.model_copy(update={"nodes": [node]})
    service.reloading.change("pause", paused, SIGNALLED, configured=False)
    whole.run()
    assert service.reloading.settings.nodes[0].paused
    assert touched == []
    whole.stop()


def test_reloads_that_are_asked_for_again_and_again_have_one_line_a_second(
    tmp_path: pathlib.Path,
) -> None:
    whole = WholeGateway(tmp_path / "data").start()
    service = whole.service
    service.reloading.under_way = "a reload"
    with capturedLogs() as captured:
        for _ in range(50):
            service.reload()
    (line,) = [formatEvent(event) for event in captured]
    assert line == "configuration not reloaded: a reload is under way: try again later"
    whole.pass_time(1)
    with capturedLogs() as captured:
        service.reload()
    assert formatEvent(captured[0]).endswith("; 49 more since the last such line")
    service.reloading.under_way = ""
    whole.stop()
