"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# The first example of a test may have to compile kernels, so there are no deadlines.
settings.register_profile("vedette", deadline=None, max_examples=int(os.environ.get("EXAMPLES", "100")))
settings.load_profile("vedette")
