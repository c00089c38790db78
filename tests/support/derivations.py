"""What SCRAM clients have to derive, worked out at once."""


def derive_here(derivation, done):
    """As a face's `Derive`, but in the same turn."""
    derivation.run()
    done(0)


def respond(mechanism, challenge):
    """A SCRAM client's answer to a challenge, whatever it takes."""
    answer = mechanism.respond(challenge)
    derivation = mechanism.derivation()
    if derivation is None:
        return answer
    assert answer is None
    derivation.run()
    return mechanism.derived()
