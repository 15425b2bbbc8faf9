"""The engine: a set of subscriptions of any kind, compiled, and the step that every host calls."""
