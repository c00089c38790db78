"""Free memory is given back when what is held has fallen by much, and only then."""

from gateway.service.giving_back import MUCH, GivingBack, c_library, trim_of


class Memory:
    """What is held, and how often free memory was given back."""

    def __init__(self) -> None:
        self.held = 0
        self.trims: list[int] = []
        self.giving_back = GivingBack(lambda: self.held, self.trim)

    def trim(self, pad: int) -> int:
        self.trims.append(pad)
        return 1

    def holds(self, octets: int) -> int:
        """So much is held at the next look; how often something was given back so far."""
        self.held = octets
        self.giving_back.look()
        return len(self.trims)


def test_it_is_given_back_once_when_much_has_become_free() -> None:
    memory = Memory()
    assert [memory.holds(octets) for octets in (0, 2 * MUCH, 3 * MUCH)] == [0, 0, 0]
    assert memory.holds(2 * MUCH - 1) == 1
    assert memory.holds(2 * MUCH - 1) == 1
    assert memory.holds(MUCH - 2) == 2
    assert memory.trims == [0, 0]


def test_a_little_is_kept_for_what_comes_next() -> None:
    memory = Memory()
    assert [memory.holds(octets) for octets in (MUCH, 0, MUCH, 1)] == [0, 0, 0, 0]


def test_what_falls_little_by_little_is_much_in_the_end() -> None:
    memory = Memory()
    step = MUCH // 4
    assert [memory.holds(octets * step) for octets in (8, 7, 6, 5, 4, 3)] == [0, 0, 0, 0, 0, 1]


def test_a_c_library_that_cannot_is_left_alone() -> None:
    assert trim_of(object()) is None
    giving_back = GivingBack(iter([MUCH + 1, 0]).__next__, None)
    giving_back.look()
    giving_back.look()


def test_it_is_the_c_librarys_own_function() -> None:
    trim = trim_of(c_library())
    assert trim is None or trim(0) in (0, 1)
