"""Delivery of notifications: streams and queues that subscribers read, and webhooks."""
