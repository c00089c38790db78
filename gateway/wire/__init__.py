"""Protocol-neutral bricks: buffers, serial numbers, range sets, state machines, limits, SASL."""
