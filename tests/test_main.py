"""Where the command begins."""

import sys
from types import ModuleType

import pytest

from gateway import __main__ as program


def test_an_interruption_while_the_command_is_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "gateway.cli", Loading("gateway.cli"))
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == "amqp-gateway: interrupted"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("a.so: failed to map segment from shared object"),
    ],
)
def test_memory_that_is_refused_is_one_line_and_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(program.os, "_exit", codes.append)
    monkeypatch.setitem(sys.modules, "gateway.cli", Refused("gateway.cli", error))
    program.main()
    assert codes == [70]
    told = capsys.readouterr().err
    assert told.startswith("amqp-gateway: it is refused memory, or threads: ")
    assert told.count("\n") == 1


def test_any_other_error_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gateway.cli", Refused("gateway.cli", RuntimeError("defect")))
    with pytest.raises(RuntimeError, match="defect"):
        program.main()


class Refused(ModuleType):
    """A command that cannot run."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(name)
        self.error = error

    def main(self) -> None:
        raise self.error
