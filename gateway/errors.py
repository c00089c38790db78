"""The roots of every error that the gateway raises or reports.

A protocol's own errors, with the codes that go on the wire, live in that protocol's package and
derive from these. Expected results (rejected, released, no route, expired) are values, never
exceptions.
"""


class GatewayError(Exception):
    """The root: anything that the gateway itself raises on purpose."""


class LocalProtocolError(GatewayError):
    """A connection was asked for what its state does not allow: a defect of the gateway."""


class RemoteProtocolError(GatewayError):
    """The peer broke its protocol. Subclasses carry the code that the specification names."""

    def keep(self) -> None:
        """It is kept as what happened, not as where it was found.

        Its traceback holds the frames that handed it on, and they hold what it is kept in.
        """
        self.__traceback__ = None
        self.__context__ = None
        self.__cause__ = None


class DecodeError(GatewayError):
    """Octets that break their encoding; the protocol packages turn it into their own error."""


class LimitError(DecodeError):
    """Octets that are well formed as far as they go, but past a limit that protects the gateway."""


class TooMuchWorkError(GatewayError):
    """What was asked for would hold up everybody else; who began it answers with a refusal."""


class HalfDoneError(GatewayError):
    """What was asked for is done in part; the text says how far."""


class ConfigurationError(GatewayError):
    """A configuration that cannot be used.

    Args:
        problems: every problem found, each as ``(key path, what is wrong)``.
    """

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("\n".join(f"{path}: {problem}" for path, problem in problems))
        self.problems = problems


class StartupError(GatewayError):
    """The service cannot start (port in use, data directory locked ...): one line says why."""


class UnknownStoreError(StartupError):
    """A store that lacks what it must have, as it says or the audit log: an operator decides.

    So is one whose messages would go elsewhere than where they were meant for.
    """


class StoreError(GatewayError):
    """The durable store, or the audit log beside it, cannot be read or written.

    Attributes:
        part: which of the two: ``store`` or ``audit``.
        full: for want of room, on the disk of which some is set aside.
        cause: ``full``, ``slow`` (no answer), ``gone`` (its files are), else ``error``.
        on_reserve: nothing was refused for good: the store goes on with the room set aside for it.
    """

    def __init__(
        self,
        text: str,
        *,
        part: str = "store",
        full: bool = False,
        on_reserve: bool = False,
        cause: str = "error",
    ) -> None:
        super().__init__(text)
        self.part = part
        self.full = full
        self.cause = "full" if full else cause
        self.on_reserve = on_reserve


class BrokenStoreError(StoreError):
    """What is in its files is no store: no crash does that, but a disk, or somebody, does."""
