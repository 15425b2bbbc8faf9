"""Expensive operators: how they are declared, planned and called, and how filters use their results."""
