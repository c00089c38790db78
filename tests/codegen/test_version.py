"""There is one version, and the package and the chart have it."""

from pathlib import Path

import pytest
import yaml

from gateway import __version__
from gateway.codegen.version import PLACES, version, with_version

ROOT = Path(__file__).parents[2]


def test_the_package_and_the_chart_have_the_version_of_the_project() -> None:
    chart = yaml.safe_load((ROOT / "helm" / "Chart.yaml").read_text(encoding="utf-8"))
    assert {__version__, chart["version"], chart["appVersion"]} == {version(ROOT)}


def test_a_new_version_is_written_to_its_places_and_nowhere_else() -> None:
    text = 'apiVersion: v2\nversion: 1.0.0\nappVersion: "1.0.0"\nkubeVersion: ">=1.25"\n'
    assert with_version(text, PLACES["../helm/Chart.yaml"], "2.1") == (
        'apiVersion: v2\nversion: 2.1\nappVersion: "2.1"\nkubeVersion: ">=1.25"\n'
    )


def test_a_file_that_has_lost_its_place_is_no_silent_success() -> None:
    with pytest.raises(AssertionError):
        with_version("name: x\n", PLACES["../helm/Chart.yaml"], "2.1")
