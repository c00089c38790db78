"""Every class of breaks, by its right name and once, in one log with what is in order beside it."""

from support.planted_breaks import PLANTS
from support.planted_table import by_class

from gateway.accounting.steps.breaks import BreakClass

OF_THE_LOG = {BreakClass.LOG_GAP, BreakClass.CLOCK_SKEW}


def test_what_is_planted_is_found_once_with_its_message_and_nothing_else(spark, tmp_path):
    lines = list(by_class(spark, tmp_path / "log"))
    assert [str(line) for line in lines if not line.right] == []


def test_each_class_but_those_of_the_log_itself_is_planted():
    assert {each.break_class for each in PLANTS} == set(BreakClass) - OF_THE_LOG
