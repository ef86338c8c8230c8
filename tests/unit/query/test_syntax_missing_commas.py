import pytest

from dbt.adapters.spark_mt.query.syntax import missing_comma


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT\n  ds\n  id, n FROM t", "ds, id"),
        ("SELECT o.ds -- day\n id FROM o", ""),
        ("SELECT o.ds id FROM o", "ds, id"),
        ("SELECT `Ds` id FROM o", "`Ds`, id"),
        ("WITH c AS (SELECT 1) SELECT n, ds id FROM c", "ds, id"),
        ("SELECT ds id FROM a UNION ALL SELECT ds, id FROM b", "ds, id"),
        ("SELECT ds AS id FROM t", ""),
        ("SELECT max(ds) id FROM t", ""),
        ("SELECT day id FROM t", ""),
        ("TABLE ds id", ""),
        ("SELECT (", ""),
    ],
)
def test_a_column_that_names_the_next(query, found):
    expected = f" A comma may be missing in the query: {found}." if found else ""
    assert missing_comma(query, "ds") == expected
