"""Rows for which queries return rows, and statements that change what these return."""

from __future__ import annotations

import pytest

from tests.corpus import tpcds
from tests.corpus.conditions import conditions
from tests.corpus.queries import Query
from tests.corpus.sources import ROUNDS, Choice, Column
from tests.corpus.trials import Database

INT, TEXT, AMOUNT = "INT", "CHAR(20)", "DECIMAL(7,2)"
COLUMNS = {
    "store_sales": (
        Column("ss_sold_date_sk", INT),
        Column("ss_customer_sk", INT),
        Column("ss_ticket_number", INT),
        Column("ss_net_paid", AMOUNT),
    ),
    "web_sales": (
        Column("ws_sold_date_sk", INT),
        Column("ws_bill_customer_sk", INT),
        Column("ws_order_number", INT),
        Column("ws_net_paid", AMOUNT),
    ),
    "customer": (
        Column("c_customer_sk", INT),
        Column("c_first_name", TEXT),
        Column("c_birth_year", INT),
    ),
    "date_dim": (
        Column("d_date_sk", INT),
        Column("d_date", "DATE"),
        Column("d_year", INT),
        Column("d_moy", INT),
        Column("d_month_seq", INT),
    ),
}
SALES = "store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk"
QUERIES = {
    "comparison": f"SELECT d_date FROM {SALES} WHERE d_year = 1999 + 1 AND d_moy BETWEEN 3 AND 4",
    "dates": f"SELECT d_year FROM {SALES} WHERE d_date BETWEEN CAST('2000-03-11' AS DATE) "
    "- INTERVAL 30 DAYS AND CAST('2000-03-11' AS DATE) AND ss_net_paid / 3 > 1.2",
    "texts": "SELECT ss_net_paid FROM store_sales, customer WHERE ss_customer_sk = c_customer_sk "
    "AND substr(c_first_name, 1, 2) IN ('xy', 'yz') AND c_first_name LIKE '%z' "
    "OR c_birth_year = 1970 AND ss_customer_sk = c_customer_sk",
    "years": f"WITH y AS (SELECT ss_customer_sk AS k, d_year, sum(ss_net_paid) AS n FROM {SALES} "
    "GROUP BY ss_customer_sk, d_year) SELECT a.k FROM y a, y b WHERE a.k = b.k "
    "AND a.d_year = 2001 AND b.d_year = 2001 + 1 AND b.n / a.n > 2",
    "branches": "WITH y AS (SELECT ss_customer_sk AS k, 's' AS kind FROM store_sales UNION ALL "
    "SELECT ws_bill_customer_sk, 'w' FROM web_sales) SELECT a.k FROM y a, y b "
    "WHERE a.k = b.k AND a.kind = 's' AND b.kind = 'w'",
    "counts": "SELECT c_first_name, n FROM customer, (SELECT ss_ticket_number, ss_customer_sk, "
    "count(*) AS n FROM store_sales GROUP BY ss_ticket_number, ss_customer_sk) AS t "
    "WHERE ss_customer_sk = c_customer_sk AND n BETWEEN 15 AND 20",
    "without a partner": "SELECT ss_net_paid FROM store_sales LEFT JOIN web_sales "
    "ON ws_order_number = ss_ticket_number WHERE ws_order_number IS NULL AND ss_net_paid > 20",
    "subqueries": f"SELECT ss_net_paid FROM {SALES} WHERE d_month_seq = (SELECT DISTINCT "
    "d_month_seq FROM date_dim WHERE d_year = 2000 AND d_moy = 2) AND EXISTS (SELECT 1 FROM "
    "web_sales WHERE ws_bill_customer_sk = ss_customer_sk) AND ss_customer_sk IN "
    "(SELECT c_customer_sk FROM customer WHERE c_birth_year < 1950)",
    "both": "SELECT ss_customer_sk FROM store_sales WHERE ss_net_paid > 10 INTERSECT "
    "SELECT ws_bill_customer_sk FROM web_sales WHERE ws_net_paid > 300",
}


def database(sources):
    found = Database({source.name: source.columns for source in sources})
    for source in sources:
        found.insert(source.name, source.rows)
    return found


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("seed", range(2))
def test_a_query_returns_rows(name, seed):
    query = Query(f"tpcds/{name}", QUERIES[name])
    found = database(tpcds.sources([query], COLUMNS, seed))
    assert found.rows(query.text)


@pytest.mark.parametrize("name", QUERIES)
def test_each_round_changes_what_a_query_returns(name):
    query = Query(f"tpcds/{name}", QUERIES[name])
    plan = tpcds.plan([query], COLUMNS, 1)
    assert set(plan.changes) == set(ROUNDS)
    found = database(plan.sources)
    changed = 0
    for round_ in ROUNDS:
        before = found.rows(query.text)
        for statement in plan.changes[round_]:
            found.execute(statement)
        now = found.rows(query.text)
        assert now
        changed += now != before
    assert changed >= len(ROUNDS) / 2


def test_choices_that_exclude_each_other_give_no_conditions():
    text = "SELECT 1 FROM store_sales WHERE 1 = 2"
    assert conditions(text, COLUMNS, Choice(1)) is None


def test_a_trial_is_undone_unless_it_is_kept():
    found = Database({"store_sales": COLUMNS["store_sales"]})
    with found.trial():
        found.insert("store_sales", [("1", "2", None, "3.50")])
    assert found.rows("SELECT * FROM store_sales") == []
    with found.trial() as trial:
        found.insert("store_sales", [("1", "2", None, "3.50")])
        trial.keep()
    assert len(found.rows("SELECT * FROM store_sales")) == 1
    assert found.rows("SELECT nothing FROM store_sales") is None
