"""Patterns over several events: machines, partial matches, forecasts."""
