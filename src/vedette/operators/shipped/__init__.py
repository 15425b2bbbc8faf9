"""Operators that come with Vedette, each loaded when a set of operators is made."""
