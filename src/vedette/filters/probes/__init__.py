"""Probes: tests without a useful order, evaluated once per distinct value of a batch, many at a time."""
