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
