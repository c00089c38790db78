"""What came and was refused, by the audit log."""

from gateway.audit.schema import Kind, Reason

NO_MESSAGE = b"\x00\x53\x75\xa0"


def books(world):
    """What came, and which reason each refusal had; they are of the same messages."""
    records = world.blocks.records()
    came = [each.message for each in records if each.kind == Kind.RECEIVED]
    refused = [each for each in records if each.kind == Kind.REFUSED]
    assert set(each.message for each in refused) <= set(came)
    world.check()
    return len(came), [Reason(each.reason) for each in refused]


def identities(world):
    """The digests of the message-ids of what came."""
    return [each["id_digest"] for each in world.blocks.raw() if each["kind"] == Kind.RECEIVED]
