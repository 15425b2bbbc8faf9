"""Filters on single events: from normal forms to clauses, predicates and an index, and from events to matches."""
