"""The steps from each version of the tables to the next one, in the order of their numbers."""
