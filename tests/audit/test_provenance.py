"""What seals, trusted keys and heads that were kept elsewhere prove of a log."""

from pathlib import Path

import pytest
from support.audit_logs import ScriptedGateway
from support.forged_logs import RECORDS, Forger
from support.keys import Key
from support.planted import KEY, PLANTED, sealed_log

from gateway.audit.provenance import Anchor, Provenance, anchors_in
from gateway.audit.reader import segment_paths
from gateway.audit.seals import Head
from gateway.audit.verify import WHOLE, verify


def judged(log: Path, *, trust: Key | None = KEY, heads: tuple[Head, ...] = ()) -> list[str]:
    """What is wrong with it, in words; the log's own flaws first."""
    anchors = [Anchor(head, "kept") for head in heads]
    provenance = Provenance(trust.trusted() if trust else None, anchors)
    checked = verify(log, provenance)
    return [each.problem for each in (*checked.damages, *provenance.found())]


def head_of(log: Path) -> Head:
    provenance = Provenance()
    verify(log, provenance)
    assert provenance.head is not None
    return provenance.head


def lines(log: Path, trust: Key | None = None) -> list[str]:
    provenance = Provenance(trust.trusted() if trust else None)
    verify(log, provenance)
    return provenance.lines()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return sealed_log(tmp_path / "log", KEY.sign)


def test_a_signed_log_is_what_its_key_has_signed(log: Path):
    assert judged(log) == []
    (line,) = lines(log, KEY)
    assert line.startswith("sealed to record ")
    assert line.endswith("held against the trusted keys")


def test_what_does_not_pass_is_not_said_to_have_been_held_against_the_keys(log: Path):
    (line,) = lines(log, Key())
    assert line.endswith(": not all of it stands before the trusted keys")
    PLANTED["resealed"].harm(log)
    assert not any("held against the trusted keys" in line for line in lines(log, KEY))


def test_an_unsigned_log_is_said_to_be_so(tmp_path: Path):
    log = sealed_log(tmp_path, None)
    assert judged(log, trust=None) == []
    (line,) = lines(log)
    assert "unsigned: whoever can write the directory can write all of it anew" in line


def test_signatures_that_nobody_trusts_are_said_not_to_be_checked(log: Path):
    (line,) = lines(log)
    assert line.endswith("signatures were not checked, since no key is said to be trusted")


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_by_the_log_or_by_the_key(name: str, log: Path):
    planted = PLANTED[name]
    planted.harm(log)
    alone, trusted = judged(log, trust=None), judged(log)
    assert (planted.alone in " ".join(alone)) if planted.alone else alone == []
    assert planted.trusted in " ".join(trusted[len(alone) :])


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_not_what_was_anchored(name: str, log: Path):
    head = head_of(log)
    assert judged(log, heads=(head,)) == []
    PLANTED[name].harm(log)
    told = judged(log, trust=None, heads=(head,))
    assert told != []
    assert PLANTED[name].anchored in " ".join(told)


def test_damage_is_told_once_whatever_it_does_to_seals(log: Path):
    PLANTED["flipped"].harm(log)
    (problem,) = judged(log)
    assert problem == "block checksum differs"


def test_a_log_that_was_cut_back_is_told_where_the_anchor_was(log: Path):
    head = head_of(log)
    PLANTED["cut_to_a_seal"].harm(log)
    (problem,) = judged(log, heads=(head,))
    assert problem == f"it had {head.offset} octets at least, and has fewer, by kept"


def test_segments_that_are_gone_from_the_end_are_told_by_the_anchor(log: Path):
    head = head_of(log)
    segment_paths(log)[-1].unlink()
    (problem,) = judged(log, heads=(head,), trust=None)
    assert problem.startswith(f"segment number {head.segment} is missing")


def test_a_head_of_another_log_or_of_no_trusted_key_is_no_anchor(log: Path):
    head = head_of(log)
    assert judged(log, heads=(head._replace(log="ab"),), trust=None) == [
        "it is of another log, by kept"
    ]
    forged = head._replace(sequence=head.sequence + 1)
    assert judged(log, heads=(forged,)) == ["a head that no trusted key has signed, by kept"]


def test_a_key_that_is_not_trusted_is_a_break_for_each_segment(log: Path):
    problems = judged(log, trust=Key())
    assert problems[0] == "no trusted key has signed anything of this log"
    assert len(problems) == len(segment_paths(log)) + 1
    assert all("which is not trusted" in each for each in problems[1:])


def test_a_signature_that_is_not_right_is_a_break(log: Path):
    forger = Forger(log)
    kind, flags, content = forger.segments[-1].blocks[-1]
    at = content.index(b'"signature"') + 20
    forged = content[:at] + (b"0" if content[at : at + 1] != b"0" else b"1") + content[at + 1 :]
    forger.segments[-1].blocks[-1] = (kind, flags, forged)
    forger.write()
    assert judged(log) == ["the signature of its seal is not right"]


def test_keys_may_change_within_a_life(tmp_path: Path):
    first, second = Key(), Key()
    gateway = ScriptedGateway(tmp_path, segment_octets=500, sign=first.sign)
    for number in range(10):
        gateway.publish("orders")
        gateway.turn()
        gateway.writer.seal()
        if number == 5:
            assert gateway.writer.sealer is not None
            gateway.writer.sealer.sign = second.sign
    gateway.stop()
    log = gateway.close()
    provenance = Provenance(first.trusted(second))
    assert verify(log, provenance) == WHOLE
    assert provenance.found() == []
    assert provenance.keys == [first.sign.key, second.sign.key]
    assert judged(log, trust=second) != []


def killed(directory: Path, *, seconds: float, seal: bool = True) -> Path:
    """A life that was cut off so long after its seal, between two others."""
    gateway = ScriptedGateway(directory, sign=KEY.sign)
    gateway.stop()
    gateway.start()
    gateway.publish("orders")
    gateway.turn()
    if seal:
        gateway.writer.seal()
    gateway.now_ms += int(seconds * 1000)
    gateway.publish("orders")
    gateway.turn()
    gateway.start()
    gateway.stop()
    return gateway.close()


@pytest.mark.parametrize("seal", [True, False])
def test_what_a_kill_left_unsealed_is_listed_and_nobody_seals_it_later(tmp_path: Path, seal: bool):
    log = killed(tmp_path, seconds=5, seal=seal)
    assert judged(log) == []
    (_, line) = lines(log, KEY)
    assert line.startswith("unsealed: records ")
    assert line.endswith("of run 2 (5.0 s)")


@pytest.mark.parametrize("seal", [True, False])
def test_more_than_a_minute_of_it_is_a_break(tmp_path: Path, seal: bool):
    (problem,) = judged(killed(tmp_path, seconds=61, seal=seal))
    assert problem.startswith("more is not sealed than a kill leaves: records ")


def test_what_was_unsealed_cannot_be_changed_once_the_next_life_has_sealed(tmp_path: Path):
    log = killed(tmp_path, seconds=5)
    forger = Forger(log)
    kind, flags, content = forger.segments[1].blocks[-1]
    forger.segments[1].blocks[-1] = (kind, flags, content[:50] + b"\x01" + content[51:])
    forger.write()
    assert "when they were sealed" in " ".join(judged(log))


def test_what_was_written_before_signing_began_counts_as_the_first_signature_found_it(
    tmp_path: Path,
):
    gateway = ScriptedGateway(tmp_path)
    gateway.stop()
    gateway.sign = KEY.sign
    gateway.start()
    gateway.stop()
    log = gateway.close()
    assert judged(log) == []
    forger = Forger(log)
    forger.change(0)
    forger.write(reseal=False)
    assert judged(log) != []


def test_a_life_without_signatures_behind_one_that_has_them_is_a_break(tmp_path: Path):
    gateway = ScriptedGateway(tmp_path, sign=KEY.sign)
    gateway.stop()
    gateway.sign = None
    gateway.start()
    gateway.stop()
    assert judged(gateway.close()) == ["its seal is not signed"]


def test_a_file_of_heads_has_one_on_each_line(log: Path):
    head = head_of(log)
    text = f"{head.line()}\n\n{head._replace(segment=1).line()}\n".encode()
    assert [each.where for each in anchors_in(text, "a")] == ["a line 1", "a line 3"]
    with pytest.raises(ValueError, match="line 2 is no head"):
        anchors_in(head.line().encode() + b"\n{}", "a")
    with pytest.raises(ValueError, match="there is no head"):
        anchors_in(b"\n", "a")


def test_records_that_are_missing_in_a_segment_are_told_once(log: Path):
    forger = Forger(log)
    blocks = forger.segments[1].blocks
    places = [place for place, block in enumerate(blocks) if block[0] == RECORDS]
    del blocks[places[1]]
    forger.write(chain=False)
    problems = judged(log)
    assert problems[0] == "gap"
    assert not [each for each in problems if "sealed" in each]
