"""What a cluster is given: the jobs alone, which run there as they do here."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pyspark
import pytest
import yaml
from support.audit_logs import balanced_log

from gateway.accounting import bundle
from gateway.accounting.command_line import parser
from gateway.accounting.java import MISSING, java_home
from gateway.accounting.partitions import ONE_PARTITION_OCTETS
from gateway.accounting.runs import finished
from gateway.accounting.session import local_settings

EXECUTORS = 2
ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "pyproject.toml"
OPERATING = ROOT / "docs" / "operating.md"


def test_the_bundle_has_nothing_compiled_and_runs_where_the_project_is_not(tmp_path: Path):
    out = tmp_path / "accounting.zip"
    bundle.build(out)
    assert all(name.endswith(".py") for name in zipfile.ZipFile(out).namelist())
    start = [sys.executable, str(tmp_path / "accounting.py")]
    told = subprocess.run(
        [*start, "reconcile", str(tmp_path), "--out", str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stderr) == (3, f"reconcile: no audit segments in {tmp_path}\n")


@pytest.mark.parametrize("given", [[], ["--help"], ["accounting"], ["a.zip", "b.zip"]])
def test_without_one_name_of_a_zip_it_says_how_it_is_used(tmp_path: Path, given: list[str]):
    command = [sys.executable, "-P", "-m", "gateway.accounting.bundle", *given]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr.startswith("usage: ")) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_the_application_for_kubernetes_is_the_command_for_spark_submit():
    text = OPERATING.read_text(encoding="utf-8")
    (block,) = [each for each in text.split("```") if "kind: SparkApplication" in each]
    spec = yaml.safe_load(block.removeprefix("yaml\n"))["spec"]
    given = parser().parse_args(spec["arguments"])
    assert (str(given.log), str(given.out)) == ("s3a://logs/gateway/audit", "s3a://reports/gateway")
    program, archive = spec["mainApplicationFile"], spec["deps"]["pyFiles"]
    assert f"--py-files {Path(archive[0]).name} {Path(program).name} reconcile" in text
    wanted = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["accounting"]
    assert f"pyspark>={spec['sparkVersion'].removesuffix('.0')}" in wanted


def spark_of_its_own(directory: Path) -> Path:
    """What is installed, in a directory where a worker may write what its executors say."""
    for name in ("bin", "jars"):
        (directory / name).symlink_to(Path(pyspark.__file__).parent / name)
    return directory


def test_spark_submit_runs_it_with_driver_and_executors_in_processes_of_their_own(tmp_path: Path):
    java = java_home(tmp_path)
    if java is None:
        pytest.skip(MISSING)
    bundle.build(tmp_path / "accounting.zip")
    log = balanced_log(tmp_path / "log", 20, segment_octets=1500)
    (tmp_path / "spark").mkdir()
    settings = local_settings(tmp_path, ONE_PARTITION_OCTETS)  # so that both have work
    quick = settings["spark.driver.extraJavaOptions"]
    settings["spark.executor.extraJavaOptions"] = quick
    properties = tmp_path / "spark.properties"
    properties.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    home = spark_of_its_own(tmp_path / "spark")
    command = [home / "bin" / "spark-submit", "--master", f"local-cluster[{EXECUTORS},1,1024]"]
    command += ["--properties-file", properties, "--py-files", "accounting.zip", "accounting.py"]
    environment = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": sys.executable,
    }
    told = subprocess.run(
        [*command, "reconcile", log, "--out", tmp_path / "out"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[0] == f"balanced: {log}"
    (run,) = finished(tmp_path / "out")
    assert told.stdout.splitlines()[-1] == f"  report   {run}/report.html"
    executors = [path.name for path in (home / "work").glob("app-*/*")]
    assert sorted(executors) == list(map(str, range(EXECUTORS)))
