"""Covering on Spark: which subscriptions others make redundant, found by the workers."""
