"""What a commit says about itself survives its text; what others write there is theirs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.commit_metadata import (
    MARK,
    CommitKind,
    CommitMetadata,
    RefreshMetadata,
    decode_commit,
    encode_commit,
)
from dbt.adapters.spark_mt.definition.definition import StreamMetadata
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
)

texts = st.text(max_size=8)
positions = st.dictionaries(
    texts,
    st.builds(VersionedPosition, st.integers(0), texts)
    | st.builds(DefinitionPosition, texts)
    | st.builds(OffsetPosition, texts, texts)
    | st.just(UnknownPosition()),
    max_size=3,
)
metadata = st.builds(
    CommitMetadata,
    table_id=texts,
    kind=st.sampled_from(CommitKind),
    seq=st.integers(0),
    token=texts,
    generation=st.integers(0),
    definition=texts,
    positions=st.none() | positions,
    partition_positions=st.none() | positions,
    refresh=st.none() | st.builds(RefreshMetadata, texts, texts, texts, st.integers()),
    stream=st.none() | st.builds(StreamMetadata, texts, st.integers(0)),
    foreign=st.lists(st.tuples(st.integers(0), texts), max_size=20).map(tuple),
    applied_to=st.integers(-1),
)


@given(metadata)
def test_facts_come_back_as_they_were(found):
    text = encode_commit(found)
    assert decode_commit(text) == found
    assert text.isascii()


@given(st.none() | st.text() | st.from_type(bool).map(json.dumps))
def test_texts_of_other_writers_are_no_commit_metadata(text):
    assert decode_commit(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        MARK,
        f'"{MARK}"',
        f'["{MARK}"]',
        f'{{"{MARK}": ',
        json.dumps({MARK: "a comment of somebody"}),
        json.dumps({MARK: True}),
        json.dumps({"comment": MARK}),
    ],
)
def test_our_name_alone_does_not_make_it_ours(text):
    assert decode_commit(text) is None
