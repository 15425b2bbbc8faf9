"""Expensive operators: what they are, how often they have to run, and what they find."""
