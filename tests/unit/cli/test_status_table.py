"""The table of `spark-mt status` on terminals of several sizes."""

from __future__ import annotations

import json
from dataclasses import asdict
from io import StringIO

import pytest
from rich.console import Console

from dbt.adapters.spark_mt.cli.output import span
from dbt.adapters.spark_mt.cli.status import common_prefix, headline, status_table, worst
from tests.unit.manager.samples import MANAGER, NOW_MS, sample_tables

TABLES = [
    {**asdict(each.view), "freshness_status": each.view.freshness_status.value}
    for each in sample_tables()
]
ABOUT = {**asdict(MANAGER), "role": MANAGER.role.value}


def drawn(tables, manager=ABOUT, width=200, **more):
    console = Console(file=StringIO(), width=width, markup=False, emoji=False)
    console.print(status_table(manager, tables, NOW_MS, **more))
    return console.file.getvalue()


def test_every_table_and_every_problem_is_there():
    text = drawn(TABLES)
    for table in TABLES:
        assert table["name"].rpartition(".")[2] in text
        assert " ".join(table["problem"].split())[:40] in " ".join(text.split())
    assert "in spark_catalog.flights" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_any_width(width):
    assert max(len(line) for line in drawn(TABLES, width=width).splitlines()) <= width


def test_where_there_is_little_room_the_worst_are_shown():
    text = drawn(TABLES, most=3)
    assert f"… and {len(TABLES) - 3} more" in text
    first = worst(TABLES)[0]
    assert first["failures"] > 0
    assert first["name"].rpartition(".")[2] in text
    assert worst(TABLES)[-1]["freshness_status"] == "NONE"


def test_the_headline_counts():
    behind = sum(table["freshness_status"] == "LATE" for table in TABLES)
    text = headline(ABOUT, TABLES, NOW_MS)
    assert f"{len(TABLES)} tables: " in text
    assert f"{behind} LATE" in text
    assert "process 4711 on node-1, active for 3 h, tick 0.18 s" in text
    assert "led by" in headline({**ABOUT, "role": "STANDBY"}, [], NOW_MS)
    assert headline(None, [], NOW_MS) == "no manager · no tables"


def test_a_text_does_nothing_to_the_terminal():
    evil = {**TABLES[0], "problem": "\x1b[31m[bold]:smile:\x07 <script>", "activity": "a\x1b[2Jb"}
    text = drawn([evil])
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "[bold]:smile:" in text


def test_a_long_problem_is_cut():
    text = drawn([{**TABLES[0], "problem": "x" * 5000}])
    assert text.count("x") < 2010
    assert "…" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_723, "1 h 2 min"),
        (90_000, "1 d 1 h"),
        (86_461, "1 d 1 min"),
    ],
)
def test_lengths_of_time(seconds, text):
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        ([], ""),
        (["c.s.t"], "c.s."),
        (["c.s.t", "c.s.u"], "c.s."),
        (["c.s.t", "c.r.t"], "c."),
        (["c.s.t", "d.s.t"], ""),
        (["t"], ""),
    ],
)
def test_the_common_prefix_of_names_is_shown_once(names, prefix):
    assert common_prefix(names) == prefix


def test_the_sample_is_what_json_has():
    assert json.loads(json.dumps(TABLES, default=str))[0].keys() == TABLES[0].keys()
