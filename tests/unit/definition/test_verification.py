"""Which commits are verified, and what is stored and shown of a verification."""

import json

import pytest

from dbt.adapters.spark_mt.definition.verification import (
    RowDifference,
    Side,
    Verification,
    VerificationResult,
    decode_verification,
    encode_verification,
    is_selected,
)

ROWS = (
    RowDifference(Side.MISSING, '{"k":1}', 1),
    RowDifference(Side.UNEXPECTED, '{"k":2}', 3),
)
SELECTED = [3, 11, 17, 19, 32, 46, 56]
DIFFERENT = Verification(
    VerificationResult.DIFFERENT, "r-1", 7, "id", 2, total=9, rows=ROWS, repair_id="r-2"
)


def test_no_commit_or_each_one_is_selected():
    assert not any(is_selected("id", version, 0.0) for version in range(1000))
    assert all(is_selected("id", version, 1.0) for version in range(1000))


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_a_share_of_the_commits_is_selected(share):
    selected = sum(is_selected("a table", version, share) for version in range(10_000))
    assert abs(selected / 10_000 - share) < 0.02


def test_a_larger_share_selects_the_commits_of_a_smaller_one():
    few, many = ({v for v in range(1000) if is_selected("id", v, s)} for s in (0.1, 0.3))
    assert few < many


def test_another_process_selects_the_same_commits():
    assert [v for v in range(60) if is_selected("id", v, 0.1)] == SELECTED
    assert [v for v in range(60) if is_selected("other", v, 0.1)] != SELECTED


@pytest.mark.parametrize(
    "verification",
    [
        DIFFERENT,
        Verification(VerificationResult.EQUAL, "r-1", 0, "id", 1),
        Verification(VerificationResult.SKIPPED, "r-1", 3, "id", 1, problem="it's gone"),
        Verification(
            VerificationResult.DIFFERENT, "r", 3, "id", 1, "", 1, ROWS[:1], "x", repaired=True
        ),
    ],
)
def test_a_stored_verification_is_read(verification):
    assert decode_verification(encode_verification(verification)) == verification


def test_keys_of_a_newer_release_are_ignored():
    document = json.loads(encode_verification(DIFFERENT)) | {"later": 1}
    assert decode_verification(json.dumps(document)) == DIFFERENT


def test_a_finding_names_rows_and_repair():
    text = DIFFERENT.describe()
    assert text == (
        "9 rows differ between version 7, which the refresh r-1 wrote, and the query at the same "
        'versions of its sources: missing {"k":1}; unexpected {"k":2} (3 times); 5 more. The table '
        "was not computed again yet."
    )
