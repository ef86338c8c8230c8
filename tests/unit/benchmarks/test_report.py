import pytest

from benchmarks.report import Measurement, quantile, report


@pytest.mark.parametrize(
    ("ours", "ratio", "seconds", "kept"),
    [
        ((1.0, 1.1, 9.0), 1.10, None, True),
        ((1.0, 1.2, 1.3), 1.10, None, False),
        ((0.1, 0.3, 0.4), None, 0.35, True),
        ((0.3, 0.4, 0.5), None, 0.35, False),
        ((0.1, 0.1, 0.1), 0.05, 0.35, False),
    ],
)
def test_a_target_is_compared_with_the_median(ours, ratio, seconds, kept):
    measured = Measurement("build", ours, (0.9, 1.0, 7.0), most_ratio=ratio, most_seconds=seconds)
    assert measured.kept is kept


def test_the_table_shows_ratio_target_and_samples():
    table = report([Measurement("first build", (2.0, 3.0), (5.0, 5.0), most_ratio=1.1)])
    assert " ".join(table.splitlines()[-1].split()) == (
        "first build 5.00 s 2.50 s 0.50 x <= 1.10 x ok 2.00 3.00 | 5.00 5.00"
    )


def test_columns_are_aligned():
    header, rule, *rows = report(
        [Measurement("a", (1.0,), most_seconds=1.0), Measurement("a longer name", (1.0,))]
    ).splitlines()
    assert len(rule) >= len("a longer name")
    assert {row.index("1.00 s") for row in rows} == {header.index("ours")}


@pytest.mark.parametrize(("least", "kept"), [(0.95, True), (1.05, False)])
def test_a_target_of_throughput_is_a_minimum(least, kept):
    measured = Measurement("rows", (1000.0,), (1000.0,), least_ratio=least, unit="rows/s")
    assert measured.kept is kept
    assert " ".join(measured.row()[1:5]) == f"1,000 rows/s 1,000 rows/s 1.00 x >= {least:.2f} x"


def test_a_quantile_lies_between_samples():
    samples = tuple(float(each) for each in range(101))
    assert [quantile(samples, part) for part in (0.0, 0.5, 0.99, 1.0)] == [0, 50, 99, 100]
    assert quantile((1.0, 2.0), 0.99) == pytest.approx(1.99)
    assert Measurement("p99", samples, samples, quantile=0.99).figure == 99


def test_many_samples_are_shown_by_their_ends_and_without_a_target_there_is_no_verdict():
    row = Measurement("a", tuple(map(float, range(11)))).row()
    assert (row[5], row[-1]) == ("", "0.00 … 10.00 (11)")
