"""Readers and writers: subscriptions, events and outcomes in files and streams of bytes; nothing here matches."""
