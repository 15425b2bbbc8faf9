"""rule-engine (PyPI): every rule is evaluated on every event."""
