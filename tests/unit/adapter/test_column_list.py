from __future__ import annotations

from dbt.adapters.spark_mt.adapter.column_list import contract_items, documented_items


def test_documented_columns_are_typed_by_the_query():
    found = documented_items(
        [("Id", "int"), ("name", "string")], {"id": {"description": "it's one"}}, ["Id"]
    )
    assert found.items == (
        r"`Id` int COMMENT 'it\'s one'",
        "`name` string",
        "PRIMARY KEY (`Id`) NOT ENFORCED",
    )


def test_without_descriptions_only_the_key_is_left():
    assert documented_items([("id", "int")], {"id": {}}, ["id"]).items == (
        "PRIMARY KEY (`id`) NOT ENFORCED",
    )
    assert documented_items([], {}, ()).items == ()


def test_contract():
    model = {
        "columns": {
            "id": {
                "name": "id",
                "data_type": "bigint",
                "description": "the id",
                "constraints": [{"type": "not_null"}, {"type": "primary_key"}],
            },
            "n": {
                "name": "n",
                "data_type": "decimal(10,2)",
                "constraints": [
                    {"type": "check", "expression": "n > 0", "name": "positive"},
                    {"type": "unique"},
                    {"type": "foreign_key", "warn_unsupported": False},
                ],
            },
        },
        "constraints": [{"type": "check", "expression": "id < n"}],
    }
    found = contract_items(model, (), comments=True)
    assert found.items == (
        "`id` bigint NOT NULL COMMENT 'the id'",
        "`n` decimal(10,2)",
        "PRIMARY KEY (`id`) NOT ENFORCED",
        "CHECK (id < n)",
        "CONSTRAINT `positive` CHECK (n > 0)",
    )
    assert found.warnings == ("constraint unique (n): no materialized table has it.",)


def test_the_configs_key_wins():
    model = {
        "columns": {"a": {"name": "a", "data_type": "int"}},
        "constraints": [{"type": "primary_key", "columns": ["a"]}],
    }
    assert contract_items(model, ["b"], comments=False).items[-1].startswith("PRIMARY KEY (`b`)")
