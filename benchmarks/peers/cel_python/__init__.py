"""cel-python (PyPI): every rule is evaluated on every event."""
