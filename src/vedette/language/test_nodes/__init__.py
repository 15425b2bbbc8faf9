"""The tests of the language: one module for each, which has the node and all answers about it."""
