"""What peers have called their nodes is shown, and not obeyed, by a terminal."""

import json

import pytest

from gateway.audit.printable import printable, printable_json

FORGED = "orders\n2026-11-23 settled, accepted\x1b[2K\x9b1A\u2028\u202eback"


def test_a_name_stays_in_its_line_and_moves_nothing() -> None:
    assert printable("Aufträge/日本") == "Aufträge/日本"
    shown = printable(FORGED)
    assert shown.isprintable()
    assert shown.startswith(r"orders\n2026-11-23 settled, accepted\x1b[2K\x9b1A\u2028\u202eback")


@pytest.mark.parametrize("text", [FORGED, "plain", "\U000e0001\udcff\x7f"])
def test_a_line_of_json_is_read_as_what_it_was(text: str) -> None:
    line = json.dumps({"node": text}, ensure_ascii=False)
    assert printable_json(line).isprintable()
    assert json.loads(printable_json(line)) == {"node": text}
