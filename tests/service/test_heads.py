"""How far the audit log is sealed is told: by line, metric, file and HTTP, all the same."""

import json
import pathlib

import pytest
from support.keys import Key
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.audit.provenance import Anchor, Provenance
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.schema import NO_LIFE
from gateway.audit.seals import Head, head_in
from gateway.audit.verify import WHOLE, verify
from gateway.config import load
from gateway.errors import ConfigurationError
from gateway.service.files import check
from gateway.service.heads import EVERY_MS, HeadLines
from gateway.service.late_segments import HEAD_FILE

KEY = "audit.signing_key_file"
HEAD = Head("ab", 1, 100, 5, 1, "0" * 64)


def lines_of(events: list) -> list[str]:
    told = [formatEvent(event) for event in events]
    return [line.removeprefix("audit head ") for line in told if line.startswith("audit head ")]


def kept_of(directory: pathlib.Path) -> Head:
    head = head_in((directory / HEAD_FILE).read_bytes())
    assert head is not None
    return head


def started(directory: pathlib.Path) -> list[dict]:
    return [
        record
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
        if record["kind"] == "incarnation-started"
    ]


@pytest.fixture
def key_file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "key.pem"
    path.write_bytes(Key().private)
    path.chmod(0o600)
    return path


def test_a_line_is_told_each_minute_and_of_each_segment_and_at_the_end():
    now_ms, head = 0, HEAD
    told = HeadLines(lambda: head, lambda: now_ms)
    with capturedLogs() as events:
        told.look()
        told.look()
        head = HEAD._replace(sequence=6)
        told.look()
        assert lines_of(events) == [HEAD.line()]
        now_ms += EVERY_MS
        told.look()
        head = HEAD._replace(sequence=7)
        told.look()
        assert len(lines_of(events)) == 2
        told.look(last=True)
        head = HEAD._replace(sequence=8, segment=2)
        told.look()
    assert lines_of(events)[2:] == [HEAD._replace(sequence=7).line(), head.line()]


def test_the_end_of_a_run_is_sealed_and_all_who_are_told_are_told_the_same(tmp_path: pathlib.Path):
    data = tmp_path / "data"
    whole = WholeGateway(data).start()
    with capturedLogs() as events:
        whole.stop()
    head = whole.service.segments.head
    assert head is not None
    assert kept_of(data) == head
    assert lines_of(events)[-1] == head.line()
    provenance = Provenance(None, [Anchor(head, "kept")])
    assert verify(data / "audit", provenance) == WHOLE
    assert provenance.found() == []
    assert provenance.head == head
    assert provenance.unsealed() == []


def test_a_gateway_seals_while_it_runs(tmp_path: pathlib.Path):
    whole = WholeGateway(tmp_path, "audit.seal_interval=1s").start()
    old = whole.connect_0_10()
    for name in ("a", "b"):  # what came before the second is sealed when that is written
        whole.result(old.declare_queue(name, durable=True))
    collector = whole.service.collector
    collector.take()
    head = whole.service.segments.head
    assert head is not None
    samples = {each.name: each.value for of in collector.collect() for each in of.samples}
    assert samples["gateway_audit_head_segment"] == head.segment
    assert samples["gateway_audit_head_signed"] == 0
    assert samples["gateway_audit_head_timestamp_seconds"] == head.time_ms / 1000
    whole.stop()


def test_a_file_that_cannot_be_written_is_told_once_until_it_can(tmp_path: pathlib.Path):
    problems = iter(("", "cannot write a: full", "cannot write a: full", "", ""))
    told = HeadLines(lambda: HEAD, lambda: 0, lambda: next(problems))
    with capturedLogs() as events:
        for _ in range(5):
            told.look()
    lines = [formatEvent(event) for event in events]
    assert [line.partition(" of the audit log ")[2] for line in lines if "its file" in line] == [
        "is not in its file, which has an older one, if any: cannot write a: full",
        "is in its file again",
    ]


def test_each_seal_that_is_not_in_its_file_is_counted(tmp_path: pathlib.Path):
    (tmp_path / HEAD_FILE).mkdir()
    with capturedLogs() as events:
        whole = WholeGateway(tmp_path).start()
        whole.stop()
    segments = whole.service.segments
    assert segments.head is not None
    assert segments.head_failures > 0
    assert segments.head_problem == f"cannot write {tmp_path / HEAD_FILE}: Is a directory"
    assert segments.head_problem in "".join(formatEvent(event) or "" for event in events)


def test_heads_are_signed_by_the_key_of_the_settings(tmp_path: pathlib.Path):
    key, path = Key(), tmp_path / "key.pem"
    path.write_bytes(key.private)
    WholeGateway(tmp_path / "data", f"audit.signing_key_file={path}").start().stop()
    assert key.trusted().signed(kept_of(tmp_path / "data"))


def test_another_key_counts_from_the_next_reload_on(tmp_path: pathlib.Path):
    first, second, path = Key(), Key(), tmp_path / "key.pem"
    path.write_bytes(first.private)
    data = tmp_path / "data"
    whole = WholeGateway(data, f"audit.signing_key_file={path}").start()
    path.write_bytes(second.private)
    whole.service.reload()
    whole.run()
    whole.stop()
    assert second.trusted().signed(kept_of(data))


def test_a_key_that_cannot_be_used_is_told(tmp_path: pathlib.Path, key_file: pathlib.Path):
    settings = f"audit.signing_key_file={key_file}"
    whole = WholeGateway(tmp_path / "data", settings)
    key_file.write_text("no key")
    with pytest.raises(ConfigurationError) as raised:
        check(whole.service.settings)
    assert raised.value.problems == [
        ("audit.signing_key_file", f"{key_file}: there is no private key in it (PEM)")
    ]
    key_file.unlink()
    with pytest.raises(ConfigurationError, match="cannot read"):
        check(whole.service.settings)
    whole.start().stop()


def test_a_key_where_the_log_is_or_that_others_can_read_is_warned_of(tmp_path: pathlib.Path):
    data = tmp_path / "data"
    data.mkdir()
    inside, outside = data / "key.pem", tmp_path / "key.pem"
    for path in (inside, outside):
        path.write_bytes(Key().private)
    outside.chmod(0o644)
    told = {
        path: " ".join(check(load(None, [f"data_directory={data}", f"{KEY}={path}"])))
        for path in (inside, outside)
    }
    assert f"{inside} is in the data directory: whoever can write the audit log" in told[inside]
    assert "is in the data directory" not in told[outside]
    assert f"{KEY}: other users of this machine can use {outside}" in told[outside]


def test_each_run_says_which_run_is_before_it_in_the_log(tmp_path: pathlib.Path):
    for _ in range(3):
        WholeGateway(tmp_path).start().stop()
    said = [(each["incarnation"], each["previous"]) for each in started(tmp_path)]
    assert said == [(1, NO_LIFE), (2, 1), (3, 2)]


def test_a_run_that_is_gone_is_known_by_the_store(tmp_path: pathlib.Path):
    for _ in range(2):
        WholeGateway(tmp_path).start().stop()
    segment_paths(tmp_path / "audit")[-1].unlink()
    WholeGateway(tmp_path).start().stop()
    assert [each["previous"] for each in started(tmp_path)] == [NO_LIFE, 2]
    assert verify(tmp_path / "audit").damages != []


def test_a_log_keeps_its_id_when_all_of_it_was_moved_away(tmp_path: pathlib.Path):
    WholeGateway(tmp_path).start().stop()
    first = json.loads((tmp_path / HEAD_FILE).read_text())["log"]
    (tmp_path / "audit").rename(tmp_path / "kept")
    WholeGateway(tmp_path).start().stop()
    assert json.loads((tmp_path / HEAD_FILE).read_text())["log"] == first
