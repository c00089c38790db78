"""The words that a job is run with."""

from types import SimpleNamespace

import pytest

from gateway.accounting import __main__ as program
from gateway.accounting.command_line import bounds_of, exit_code, parser
from gateway.accounting.steps.ages import DAY_MS, Bounds


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf"])
def test_a_length_of_time_that_is_none_exits_2(value, capsys):
    with pytest.raises(SystemExit) as exit_:
        program.main(["reconcile", "log", "--out", "out", f"--late-after={value}"])
    assert exit_.value.code == 2
    assert f"'{value}' is no length of time" in capsys.readouterr().err


def test_the_bounds_are_those_of_the_job_unless_others_are_given():
    options = parser().parse_args(["reconcile", "log", "--out", "out"])
    assert bounds_of(options) == Bounds()
    given = ["--stuck-after=0.5", "--late-after=2.5"]
    options = parser().parse_args(["reconcile", "log", "--out", "out", *given])
    assert bounds_of(options) == Bounds(stuck_ms=DAY_MS // 2, late_ms=2500)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reconcile"], "reconcile: the following arguments are required: AUDIT_DIR, --out"),
        ([], "gateway.accounting: the following arguments are required: JOB"),
        (["reconcile", "a", "--out=o", "--rebuild"], "reconcile: --rebuild goes with --state"),
        (["reconcile", "a", "b", "--out=o", "--books=c"], "reconcile: --books is of one log"),
    ],
)
def test_bad_usage_is_told_in_a_line_and_exits_2(arguments, told, capsys):
    with pytest.raises(SystemExit) as exit_:
        program.main(arguments)
    assert (exit_.value.code, capsys.readouterr().err) == (2, f"{told}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["reconcile", "gs://logs/audit", "--out", "out"],
        ["reconcile", "log", "--out", "s3a://me:secret@reports"],
        ["reconcile", "log", "--out", "out", "--state", "s3a:///state"],
        ["close", "log", "--out", "out", "--state", "s", "--books", "s3a://books/gateway"],
    ],
)
def test_what_is_no_address_exits_2_and_says_nothing_of_a_secret(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        program.main(arguments)
    assert exit_.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{arguments[0]}: argument ") and said.count("\n") == 1
    assert "secret" not in said


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "all", "1" * 5000])
@pytest.mark.parametrize(("name", "of"), [("keep", "runs"), ("follow", "seconds")])
def test_a_number_that_is_none_exits_2(name, of, value, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["reconcile", "log", "--out", "out", f"--{name}={value}"])
    assert ended.value.code == 2
    assert f"is no number of {of}" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["--rebuild", "--follow=60"])
def test_what_needs_a_state_exits_2_without(given, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["reconcile", "log", "--out", "out", given])
    assert ended.value.code == 2
    assert f"{given[:8]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("balanced", "final", "wanted"),
    [(True, True, (0, 0)), (True, False, (0, 4)), (False, True, (1, 1)), (False, False, (1, 1))],
)
def test_the_verdict_is_the_exit_code(balanced, final, wanted):
    result = SimpleNamespace(balanced=balanced, final=final)
    assert wanted == tuple(exit_code(result, require_final=each) for each in (False, True))
