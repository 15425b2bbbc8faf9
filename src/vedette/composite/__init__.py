"""Patterns over several events: from texts and events to matches."""
