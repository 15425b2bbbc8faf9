"""A pipeline from a file: sources, validation, filters, routing, sinks."""
