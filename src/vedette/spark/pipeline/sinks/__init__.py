"""Where notifications go, and how each place gets them once."""
