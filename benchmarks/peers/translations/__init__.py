"""One module for each language: a rule as the peer would write it, or CannotSay."""
