"""One quiet Spark session: small by default, nothing on the terminal but what the job prints."""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from pyspark.traceback_utils import SCCallSiteSync

from gateway.accounting.classes import Classes, keep, shared
from gateway.accounting.locations.location import Location
from gateway.accounting.locations.remote import Remote
from gateway.accounting.locations.settings import NONE, SUBMITTED, Settings, SettingsError
from gateway.accounting.memory import OPTION, usual
from gateway.accounting.partitions import ONE_PARTITION_OCTETS, PARTITIONS
from gateway.accounting.segments.view import reach

ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"

# The root's level is the one at which Spark would not announce that it changes it. What it calls an
# error are traces of a job that fails, of which the driver hears, and of measurements too late.
_QUIET: Final = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.filter.threshold.type = ThresholdFilter
appender.stderr.filter.threshold.level = fatal
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""
_JAVA_OPTIONS: Final = "-Dlog4j2.configurationFile=file:{} -Djava.net.preferIPv4Stack=true"
# With one compiler alone Java sets 48 MiB aside for code, which a few reconciliations fill. Then it
# would throw nearly all of that away, and begin anew while everything is interpreted.
# Nearly all that it makes is forgotten at once. And it would look through everything that it has
# each time there are a few classes more, until there are as many as Spark is made of.
_SMALL_LOG_OPTIONS: Final = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    " -XX:NewRatio=1 -XX:MetaspaceSize=192m"
)
_FACTORY_MODE: Final = "spark.sql.codegen.factoryMode"
_SMALL_LOG_SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    _FACTORY_MODE: "NO_CODEGEN",
    # What these find is worth less than looking for it.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # Where in a program an expression was made, and whether each rule left a plan that is one.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    # Closures are read as classes, each time, to see what of them is needed. These need no reading.
    "spark.sql.execution.usePartitionEvaluator": "true",
}
# Of what is in one partition Spark would think that it is very much, and exchange it with nobody.
# To broadcast something is a job; what is not has to be sorted, which is little.
ONE_PARTITION: Final = {
    "spark.sql.defaultSizeInBytes": "1",
    "spark.sql.maxSinglePartitionBytes": "1000p",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
}
# Of what it has done it would keep a thousand plans in words, for pages that nobody sees.
_UNSEEN: Final = {
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
}
_ASKED_FOR: Final = (
    *("functions", "PythonUtils", "PythonSQLUtils"),
    "org.apache.spark.sql.functions",
)
# Where in a program a step was made, for pages and logs. Where it is not said Java looks for it, in
# all of its stack, for each step of each plan: of a small log a tenth of the work.
_WHERE: Final = "callSite.long"
# Below, most of the time would go into the compiler: as a rule little of a log is not folded.
SMALL_LOG_OCTETS: Final = 512 * 1024 * 1024
ENDING_S: Final = 2
_MEMORY: Final = "spark.driver.memory"
PARTITION_OCTETS: Final = 128 * 1024 * 1024  # of the log; what is in doubt of it is far less


def local_settings(scratch: Path, octets: int, java_option: str = "") -> dict[str, str]:
    """Settings of a session on this machine: loopback only, no pages, partitions by size."""
    small = octets < SMALL_LOG_OCTETS
    partitions = max(2 * (os.cpu_count() or 1), octets // PARTITION_OCTETS)
    if small:
        partitions = 1 if octets < ONE_PARTITION_OCTETS else 2
    log_settings = scratch / "log4j2.properties"
    log_settings.write_text(_QUIET)
    java_options = f"{_JAVA_OPTIONS.format(log_settings)} {java_option}"
    if small:
        java_options += f" {_SMALL_LOG_OPTIONS}"
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # a call more for each expression
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
        "spark.driver.extraJavaOptions": java_options,
        "spark.local.dir": str(scratch / "spark"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        PARTITIONS: str(partitions),
        **(ONE_PARTITION if partitions == 1 else {}),
        **_UNSEEN,
        **(_SMALL_LOG_SETTINGS if small else {}),
    }


def memory_for(octets: int, master: str, settings: Settings, given: str | None) -> str | None:
    """What Java is to have to read so much; `None`: somebody else says, or nobody.

    `given`: by who runs the job.
    """
    said = _MEMORY in settings.names or SUBMITTED in os.environ
    if given is not None or said or not master.startswith("local"):
        return given
    return usual(octets)


def _say_nothing(*_of: object) -> None:
    """Instead of the traceback that `socketserver` would print."""


def keep_quiet() -> None:
    """Not to have a page of py4j's on the terminal where a job is interrupted, or Java ends.

    It says that to Python's root logger, which without this would begin to write to the terminal.
    PySpark's own server, whose connection has ended by then, has a page of it, too, and so has a
    context that is stopped behind its Java. The job says it in a line.
    """
    warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM", RuntimeWarning)
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        setattr(server, "handle_error", _say_nothing)  # noqa: B010  # to mypy it is no variable
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())


@contextmanager
def spark_session(
    name: str,
    master: str,
    scratch: Path,
    octets: int = 0,
    settings: Settings = NONE,
    *,
    memory: str | None = None,
) -> Iterator[SparkSession]:
    """A session that reads audit logs; stopped at the end.

    Without a `master` it is the one that the program was submitted to. `octets`: so many are read.
    `settings`: what is said there counts, whatever is usual. `memory`: what Java may have.

    Raises:
        SettingsError: it is running already, and cannot have that.
    """
    if memory is not None and SUBMITTED in os.environ:
        raise SettingsError(f"{OPTION} is --driver-memory of spark-submit, in front of the program")
    keep_quiet()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    known = Classes()
    if master:
        builder = builder.master(master)
    if master.startswith("local"):
        # Otherwise Java looks up the machine's name, which need not have an address.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")
        if SparkContext._gateway is None:  # else there is a Java, which has what it has
            known = shared(Path(os.environ.get("JAVA_HOME", "")), Path(_find_spark_home(), "jars"))
        for key, value in local_settings(scratch, octets, known.option).items():
            if key not in settings.names:
                builder = builder.config(key, value)
    if memory is not None:
        builder = builder.config(_MEMORY, memory)
    with told_to_java(settings):
        spark = builder.getOrCreate()
    if known.new is not None:
        keep(known.new)
    spark.sparkContext.setLogLevel("ERROR")
    _have_in_all_tasks(spark)
    reach(spark, settings)
    _know_classes(spark)
    try:
        with _at_one_place(spark, name) if master.startswith("local") else nullcontext():
            yield spark
    finally:
        spark.stop()


def _have_in_all_tasks(spark: SparkSession) -> None:
    """Tell its context how expressions are evaluated.

    A job of an RDD itself, as the one that asks whether there are rows, has no settings of SQL's,
    and would make a class of each expression.
    """
    way = spark.conf.get(_FACTORY_MODE)
    assert way is not None  # it has a default
    spark.sparkContext.setLocalProperty(_FACTORY_MODE, way)


@contextmanager
def _at_one_place(spark: SparkSession, name: str) -> Iterator[None]:
    """Java is told where all steps are made, which on a cluster people look at."""
    context = spark.sparkContext
    context.setLocalProperty(_WHERE, name)
    with SCCallSiteSync(context):  # type: ignore[no-untyped-call]  # PySpark has no type for it
        yield


@contextmanager
def told_to_java(settings: Settings) -> Iterator[None]:
    """As the file that they stand in: on a command line others would see them."""
    before = os.environ.get(ARGUMENTS)
    if settings.file is not None:
        path = shlex.quote(str(settings.file.resolve()))
        os.environ[ARGUMENTS] = f"--properties-file {path} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        if before is not None:
            os.environ[ARGUMENTS] = before
        else:
            os.environ.pop(ARGUMENTS, None)


def java_ended(error: BaseException) -> int | None:
    """The exit code of Spark's Java; `None`: it was not started here, or runs.

    `error`: by what it is known; of a lost connection one hears a moment before it has ended.
    """
    process = getattr(SparkContext._gateway, "proc", None)
    lost = isinstance(error, Py4JNetworkError | ConnectionError)
    try:
        return None if process is None else int(process.wait(timeout=ENDING_S if lost else 0))
    except subprocess.TimeoutExpired:
        return None


def check_reach(spark: SparkSession, *wanted: Location | None) -> None:
    """SettingsError unless Spark itself can read and write there, as far as its classes go."""
    java = spark.sparkContext._jvm
    assert java is not None
    hadoop = java.org.apache.hadoop
    for each in wanted:
        if not isinstance(each, Remote):
            continue
        try:
            configuration = spark.sparkContext._jsc.hadoopConfiguration()
            hadoop.fs.FileSystem.getFileSystemClass(each.scheme, configuration)
        except Py4JError:
            version = hadoop.util.VersionInfo.getVersion()
            raise SettingsError(
                f"Spark cannot reach {each}: it needs org.apache.hadoop:hadoop-aws:{version} "
                "(spark.jars.packages, or --packages of spark-submit)"
            ) from None


class _Known:
    """A class of Java's of which each method is looked up once."""

    def __init__(self, java: Any) -> None:  # Any: py4j has no types
        self._java = java

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._java, name)
        setattr(self, name, found)
        return found


def _know_classes(spark: SparkSession) -> None:
    """Look up once what PySpark asks for with each function and column.

    For a class it is a search through all jars each time, and of a small log a fifth of the work;
    for a method a question more for each.
    """
    view = spark.sparkContext._jvm
    for name in _ASKED_FOR:
        setattr(view, name, _Known(getattr(view, name)))
