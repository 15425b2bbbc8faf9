"""Dialects: translate rules of other systems into Vedette's language, so that later stages need not know them."""
