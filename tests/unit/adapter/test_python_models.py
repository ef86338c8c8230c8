"""Where the lines of a Python model are, and which models have to be in SQL."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.adapter.python_models import ModelCode, require_sql
from dbt.adapters.spark_mt.definition import conditions
from tests.support.errors import raises

_RAW = "def model(dbt, session):\n    return 1 / 0"
_NODE = {
    "name": "m",
    "unique_id": "model.p.m",
    "original_file_path": "models/m.py",
    "raw_code": _RAW,
    "language": "python",
}


@pytest.mark.parametrize("start", ["", "\n", "\n \n\n"])
@pytest.mark.parametrize("indent", ["", "\n    "])
def test_lines_are_where_they_are_in_the_file(tmp_path, start, indent):
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "m.py"
    file.write_text(start + _RAW, encoding="utf-8")
    code = ModelCode.of(_NODE, f"{indent}{_RAW}\n\nlast = 1\n", tmp_path)
    in_file = file.read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in code.text.splitlines()[: len(in_file)]] == [
        line.strip() for line in in_file
    ]
    names = {}
    exec(code.compiled(), names)  # noqa: S102 - what is tested
    assert names["last"] == 1
    with pytest.raises(ZeroDivisionError) as raised:
        names["model"](None, None)
    assert raised.traceback[-1].lineno + 1 == len(in_file)


def test_a_model_of_another_package_has_no_file_here(tmp_path):
    assert ModelCode.of(_NODE, _RAW, tmp_path).text == _RAW


def test_a_stored_query_cannot_be_python():
    with raises(conditions.PYTHON_MODEL) as raised:
        require_sql({**_NODE, "config": {"materialized": "view"}}, "view")
    assert raised.value.condition == "MATERIALIZED_TABLE_PYTHON_MODEL"
    assert raised.value.parameters == {
        "model": "m",
        "path": "models/m.py",
        "materialized": "view",
    }


def test_the_pointer_to_the_latest_version_of_a_python_model_is_a_view():
    assert require_sql({**_NODE, "config": {"materialized": "table"}}, "view") is None


def test_sql_can_be_anything():
    assert require_sql({**_NODE, "language": "sql"}, "materialized_table") is None
