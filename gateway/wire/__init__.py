"""Protocol-neutral bricks: buffers, numbers, range sets, state machines, limits, SASL."""
