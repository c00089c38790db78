"""What a value of the hot packages holds: compiled classes have no `__slots__` to ask."""


def field_names(value: object) -> list[str]:
    """The names of its fields, in alphabetical order."""
    names = [name for name in dir(value) if not name.startswith("_") and name != "CODE"]
    return [name for name in names if not callable(getattr(value, name))]
