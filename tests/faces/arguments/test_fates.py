"""The table of arguments for people, against what is read."""

from gateway.faces.arguments.fates import FATES, Fate
from gateway.faces.arguments.of_queues import NAMES, WITHOUT_EFFECT


def test_the_table_for_people_says_done_of_what_is_read_and_of_nothing_else():
    done = [names.split(", ") for names, (fate, _) in FATES.items() if fate is Fate.DONE]
    assert {name for names in done for name in names if not name.endswith("-N")} == {
        name for name, argument in NAMES.items() if argument not in WITHOUT_EFFECT
    }
