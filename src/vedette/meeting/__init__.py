"""Meeting: offers (publications that are constraints) against subscriptions to offers (Tomasic 2006)."""
