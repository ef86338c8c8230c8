import pytest

from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("t",), TableName("t")),
        (("s", "t"), TableName("t", "s")),
        (("c", "s", "t"), TableName("t", "s", "c")),
    ],
)
def test_parts_are_counted_from_the_table(parts, name):
    assert TableName.of(*parts) == name
    assert name.parts == parts
    assert str(name) == ".".join(parts)


@pytest.mark.parametrize("parts", [(), ("a", "b", "c", "d")])
def test_a_name_has_one_to_three_parts(parts):
    with pytest.raises(ValueError, match="one to three parts"):
        TableName.of(*parts)


def test_missing_parts_come_from_the_session():
    assert TableName("t").within("c", "s") == TableName("t", "s", "c")
    assert TableName("t", "x").within("c", "s") == TableName("t", "x", "c")
    assert TableName("t", "x", "y").within("c", "s") == TableName("t", "x", "y")


def test_backticks_are_doubled():
    assert quote("a`b c") == "`a``b c`"
    assert TableName("t`1", "my schema").sql == "`my schema`.`t``1`"


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain", "'plain'"),
        ("it's", r"'it\'s'"),
        ("back\\slash", r"'back\\slash'"),
        ("two\nlines\r\tend", r"'two\nlines\r\tend'"),
        ("emoji 🛫", "'emoji 🛫'"),
        ("\\'", r"'\\\''"),
    ],
)
def test_texts_are_escaped_as_spark_reads_them(text, literal):
    assert quote_text(text) == literal
