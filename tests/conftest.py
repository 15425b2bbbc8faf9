"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The first example of a test may have to compile kernels, so there are no deadlines.
settings.register_profile("vedette", deadline=None)
settings.load_profile("vedette")
