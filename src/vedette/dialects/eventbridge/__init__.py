"""Event patterns of AWS EventBridge: `{"source": ["aws.ec2"], "detail": {"state": [{"anything-but": "running"}]}}`."""

from __future__ import annotations

from vedette.dialects.eventbridge.translate import translate

__all__ = ["translate"]
