"""What every test shares: the hypothesis profile, and the form of the code under test."""

import os

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "gateway", deadline=None, derandomize="CI" in os.environ, print_blob=True
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
