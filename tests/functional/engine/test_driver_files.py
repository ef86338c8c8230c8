"""Small files by the driver, whose answers come in pieces."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles

LONG = "é€😀" * 5_000  # 45 kB; some characters begin in one piece and end in the next one


@pytest.fixture
def files(session):
    return DriverFiles(session)


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\nb", LONG, f"{LONG}\n\n{LONG}\nend\n"])
def test_a_text_is_read_as_it_is(files, tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    assert files.read(str(path)) == text
    assert files.first_line(str(path)) == text.partition("\n")[0]


def test_the_first_line_that_meets_a_condition(files, tmp_path):
    path = tmp_path / "file"
    path.write_text(f"one\n{LONG}\ntwo\nlast", encoding="utf-8")
    asked = []

    def is_two(line):
        asked.append(line)
        return line == "two"

    assert files.first_line_where(str(path), is_two) == "two"
    assert asked == ["one", LONG, "two"]
    assert files.first_line_where(str(path), lambda line: line == "last") == "last"
    assert files.first_line_where(str(path), lambda line: line == "other") is None


def test_a_file_that_is_not_there(files, tmp_path):
    path = str(tmp_path / "none")
    assert files.read_if_there(path) is None
    assert files.first_line(path) is None
    assert files.first_line_where(path, bool) is None
