"""The cache of values stays within its bounds and never mixes values up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.probes.value_cache import ValueCache


@given(st.lists(st.integers(0, 30), max_size=200))
def test_what_it_knows_is_right(numbers: list[int]) -> None:
    cache: ValueCache[int] = ValueCache(entries=8)
    for number in numbers:
        key = str(number).encode()
        assert cache.get(key) in (None, number)
        cache.put(key, number, 8)
        assert cache.get(key) == number
        assert len(cache) <= 8


def test_what_is_used_stays() -> None:
    cache: ValueCache[int] = ValueCache(entries=8)
    for number in range(100):
        cache.put(b"often", -1, 8)
        assert cache.get(b"often") == -1
        cache.put(str(number).encode(), number, 8)
    assert cache.get(b"often") == -1
    assert cache.get(b"0") is None


def test_bytes_are_bounded() -> None:
    cache: ValueCache[int] = ValueCache(entries=1000, size=20_000)
    for number in range(200):
        cache.put(str(number).encode(), number, 1000)
    assert 0 < len(cache) < 20
    cache.put(b"huge", 1, 50_000)
    assert cache.get(b"huge") is None


def test_threads() -> None:
    cache: ValueCache[int] = ValueCache(entries=50)

    def work(seed: int) -> bool:
        right = True
        for step in range(2000):
            number = (seed * 31 + step * 7) % 120
            key = str(number).encode()
            right &= cache.get(key) in (None, number)
            cache.put(key, number, 8)
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert len(cache) <= 50
