"""Covering: which subscriptions others make redundant (Ouksel 2006)."""
