"""Faces: what a protocol's commands mean in the bridge's four verbs; one per protocol and role."""
