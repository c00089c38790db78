"""What a thread hangs in is left behind: the process ends all the same."""

from collections.abc import Iterator
from threading import Event

import pytest
from support.python_programs import run_python
from support.whole_gateway import ThreadedMemoryReactor

from gateway.net.listening.password_threads import BESIDE, PASSWORD_THREADS, PasswordThreads
from gateway.net.threads import LoosePool, LooseThread, loose_threads


@pytest.fixture
def never() -> Iterator[Event]:
    """What a thread waits for, as long as the test lasts."""
    event = Event()
    yield event
    event.set()


def test_a_pool_ends_while_its_threads_hang(never: Event) -> None:
    threads = PasswordThreads(ThreadedMemoryReactor(), lambda: 0)  # type: ignore[arg-type]  # a fake
    threads.start()
    began = Event()
    threads.read(lambda: (began.set(), never.wait()))
    assert began.wait(60)
    threads.stop()


def test_who_says_for_how_long_waits_so_long(never: Event) -> None:
    thread = LooseThread(target=never.wait)
    thread.start()
    assert thread.daemon
    thread.join()
    assert thread.is_alive()
    never.set()
    thread.join(60)
    assert not thread.is_alive()


def refuse(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_whoever_comes_later_needs_no_thread_that_could_be_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reactor = ThreadedMemoryReactor()
    threads = PasswordThreads(reactor, lambda: 0)  # type: ignore[arg-type]  # a fake
    files = LoosePool(reactor, 2, "files")  # type: ignore[arg-type]
    threads.start()
    files.start()
    monkeypatch.setattr("threading._start_new_thread", refuse)
    checked = [threads.run(lambda: 7, "::1", f"u{number}") for number in range(PASSWORD_THREADS)]
    beside = [threads.read(lambda: 7) for _ in range(BESIDE - 1)]
    read = [files.ask(lambda: 7) for _ in range(2)]
    for answer in (*checked, *beside, *read):
        while not answer.called:
            reactor.from_threads.get(timeout=60)()
        assert answer.result == 7
    threads.stop()
    files.stop()


def test_a_thread_that_is_refused_is_memory_that_is_and_holds_no_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("threading._start_new_thread", refuse)
    pool = loose_threads(2, "some")
    with pytest.raises(MemoryError, match="a thread was refused: can't start new thread"):
        pool.start()
    pool.stop()


@pytest.mark.process
def test_the_reactor_ends_and_the_process_while_a_name_is_looked_up() -> None:
    program = (
        "from threading import Event\n"
        "from twisted.internet import reactor\n"
        "from gateway.net.threads import loosen\n"
        "loosen(reactor)\n"
        "def look_up():\n"
        "    reactor.callFromThread(reactor.stop)\n"
        "    Event().wait()\n"
        "reactor.callInThread(look_up)\n"
        "reactor.run()\n"
        "print('ended')\n"
    )
    done = run_python(program)
    assert done.stdout == "ended\n"
