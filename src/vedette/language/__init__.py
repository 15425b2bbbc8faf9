"""The language: parses and checks the text of a filter or pattern, and brings filters to their normal form."""
