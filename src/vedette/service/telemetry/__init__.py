"""Telemetry of the service: logs and traces."""
