"""The sinks of pipelines, and how each gets every notification once."""
