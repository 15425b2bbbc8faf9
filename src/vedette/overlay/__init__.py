"""Brokers that forward subscriptions and events: only what is not covered is forwarded."""
