"""Order of tables by what they read of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def upstream_first(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return names so that each comes after those that it reads; otherwise in the given order.

    Names that are read and are no keys do not count, nor does case. Where names read each other,
    which only rows of different times can say, one of them comes first.
    """
    sources = _sources(reads)
    ordered: dict[str, None] = {}
    visited: set[str] = set()
    for start in sources:
        if start in visited:
            continue
        visited.add(start)
        stack = [(start, iter(sources[start]))]  # no recursion: a chain may be long
        while stack:
            name, left = stack[-1]
            following = next((source for source in left if source not in visited), None)
            if following is None:
                ordered[name] = None
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(sources[following])))
    return tuple(ordered)


def upstream_of(reads: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return the names that each name reads, directly or through others; as `upstream_first`."""
    sources = _sources(reads)
    found: dict[str, frozenset[str]] = {}
    for name in upstream_first(reads):
        direct = frozenset(sources[name])
        found[name] = direct.union(*(found.get(source, frozenset()) for source in direct))
    return found


def _sources(reads: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    keys = {name.lower(): name for name in reads}
    return {
        name: tuple(
            keys[source.lower()]
            for source in read
            if source.lower() in keys and keys[source.lower()] != name
        )
        for name, read in reads.items()
    }
