"""Publications that are constraints themselves, and who wants what they offer (Tomasic 2006)."""
