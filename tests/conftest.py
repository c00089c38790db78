"""What every test shares: the hypothesis profile, the form under test, the division among workers.

For those in interop/ and faults/: the brokers, each started once, and one Spark session.
"""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from interop.brokers.fixtures import (
    activemq,
    artemis,
    broker_j,
    rabbitmq4,
    rabbitmq310,
    upstream_broker,
)
from support import workers
from support.examples import FAST, WHOLE
from support.reconciling import Reconcile, lacking, reconciling, session
from support.whole_gateway import all_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent
SLOW_ROOMS = ("accounting", "faults", "helm", "interop")
__all__ = ["activemq", "artemis", "broker_j", "rabbitmq4", "rabbitmq310", "upstream_broker"]

# In CI a test gets the same examples each time, but where new ones are sought (.ci/run explore).
for name, count in (("gateway", WHOLE), ("fast", FAST)):
    hypothesis.settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],  # as of a machine that is busy
        derandomize="CI" in os.environ and "GATEWAY_EXPLORE" not in os.environ,
        print_blob=True,
    )
hypothesis.settings.load_profile("gateway")


def form_under_test() -> str:
    """``compiled`` or ``pure``: the form of the hot packages that this interpreter imports."""
    from gateway.wire import buffers

    return "pure" if buffers.__file__.endswith(".py") else "compiled"


def pytest_report_header() -> str:
    import gateway

    return f"gateway: {form_under_test()} form, from {os.path.dirname(gateway.__file__)}"


def pytest_sessionstart(session: pytest.Session) -> None:
    wanted = os.environ.get("GATEWAY_FORM")
    if wanted and wanted != form_under_test():
        pytest.exit(f"GATEWAY_FORM={wanted}, but the {form_under_test()} form is under test", 4)
    # A shell has what it starts in the background ignore it, and that is handed down to whatever
    # the tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help="leave out what needs Spark or starts other programs, and try fewer examples"
        " (but with --hypothesis-profile gateway)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("fast") and not config.getoption("--hypothesis-profile"):
        hypothesis.settings.load_profile("fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    slow = collection_path.parent == TESTS and collection_path.name in SLOW_ROOMS
    return True if slow and config.getoption("fast") else None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """A worker for each core, as xdist does; none where paths are named and no workers asked for.

    One process starts sooner, and those who name paths wait for few tests.
    """
    asked = any(str(word).startswith(("-n", "--num")) for word in config.invocation_params.args)
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return 0 if named and not asked else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what modules and tests are made of out of the garbage collector: nothing of it goes.

    Else each full collection walks all of it, of some 300,000 objects, and there are very many.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    workers.name_group(item)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("fast"):
        items[:] = [item for item in items if not item.get_closest_marker("process")]
    if hasattr(config, "workerinput"):
        workers.put_early_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that needs no foreign peer and is skipped: no other step runs it.

    Some need a C compiler, which is there where the compiled form is what has to be tested.
    """
    report = yield
    compiled = os.environ.get("GATEWAY_FORM") == "compiled"
    if report.skipped and compiled and item.get_closest_marker("alone"):
        report.outcome, report.longrepr = "failed", f"marked alone, and skipped: {call.excinfo}"
    return report


@pytest.fixture(scope="session", autouse=True)
def no_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is to be fast starts none: a test that does has the mark."""

    def start(*_: object, **__: object) -> None:
        raise AssertionError("mark it: pytest.mark.process")

    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("fast"):
            patch.setattr("subprocess.Popen.__init__", start)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """One session for all tests of a worker."""
    scratch = tmp_path_factory.mktemp("spark")
    missing = lacking(scratch)
    if missing and os.environ.get("CI_INTEROP") == "1":
        pytest.fail(missing)
    elif missing:
        pytest.skip(missing)
    with session(scratch) as made:
        yield made


@pytest.fixture(scope="session")
def reconcile(spark: "SparkSession") -> Reconcile:
    """Fails where an audit log is not balanced."""
    return reconciling(spark)


@pytest.fixture(autouse=True)
def no_gateway_outlives_its_test() -> Iterator[None]:
    with all_ended():
        yield
