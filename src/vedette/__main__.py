"""`python -m vedette` is the command `vedette`."""

from __future__ import annotations

from vedette.cli.main import run

run()
