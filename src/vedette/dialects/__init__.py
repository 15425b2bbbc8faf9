"""Rules of other systems, as expressions of Vedette's language; what is behind the language knows nothing of them."""
