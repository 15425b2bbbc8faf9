"""Assignment of partitions to shares, when several processes follow the same stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vedette.patterns.machines import MachineDraft

_MIXES = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F)


class Share(NamedTuple):
    """One share of several. The first has all that does not split by key; each of the others has some partitions.

    What forecasts learn is shared by all partitions of a pattern, so forecasts do not split.
    """

    number: int
    of: int

    @property
    def is_first(self) -> bool:
        """Whether this share has what does not split."""
        return self.number == 0

    def follows(self, draft: MachineDraft) -> bool:
        """Whether some partition of the pattern may be in this share."""
        splits = draft.keys >= 0 and draft.record.predict is None
        return splits is not self.is_first

    def owns(self, key: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which partitions (…, 2) of patterns that it follows are in this share."""
        if self.is_first:
            return np.ones(key.shape[:-1], np.bool_)
        shard = shard_of(key.reshape(-1, 2), self.of - 1).reshape(key.shape[:-1])
        mine: NDArray[np.bool_] = shard == self.number - 1
        return mine


def shard_of(key: NDArray[np.int64], shards: int) -> NDArray[np.int32]:
    """The shard of each partition (n, 2), which is always the same."""
    one, other = key.astype(np.uint64).T
    mixed = (one * _MIXES[0]) ^ (other * _MIXES[1])
    mixed ^= mixed >> np.uint64(29)
    shard: NDArray[np.int32] = ((mixed * _MIXES[0] >> np.uint64(32)) % np.uint64(shards)).astype(np.int32)
    return shard
