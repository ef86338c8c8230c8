"""Order of tables by what they read of each other."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.planning.lineage import upstream_first, upstream_of


@pytest.mark.parametrize(
    ("reads", "order"),
    [
        ({"a": ["b"], "b": ["c", "x"], "c": []}, ("c", "b", "a")),
        ({"a": ["B"], "b": []}, ("b", "a")),
        ({"c": [], "a": [], "b": []}, ("c", "a", "b")),
        ({"a": ["a"]}, ("a",)),
        ({"a": ["b"], "b": ["a"], "c": ["a"]}, ("b", "a", "c")),
        ({}, ()),
    ],
)
def test_each_name_comes_after_those_that_it_reads(reads, order):
    assert upstream_first(reads) == order


def test_a_chain_may_be_longer_than_the_stack_of_python():
    names = [f"t{number}" for number in range(5_000)]
    reads = {name: [source] for name, source in zip(names, [*names[1:], "x"], strict=True)}
    assert upstream_first(reads) == tuple(reversed(names))


def test_what_is_read_through_others_counts():
    reads = {"a": ["b", "x"], "b": ["C"], "c": [], "d": ["d"]}
    assert upstream_of(reads) == {
        "a": frozenset({"b", "c"}),
        "b": frozenset({"c"}),
        "c": frozenset(),
        "d": frozenset(),
    }
