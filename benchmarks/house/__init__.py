"""Figures about the source of Vedette, for those who change it: sizes, imports, names, complexity."""
