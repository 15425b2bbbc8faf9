"""Which subscriptions others make redundant, found by Spark's workers."""
