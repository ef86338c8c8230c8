"""What a Python model finds, and what PySpark does not say meanwhile."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

from dbt.adapters.spark_mt.adapter import python_frames

NOTICE = (
    "'PYARROW_IGNORE_TIMEZONE' environment variable was not set. It is required to set this "
    "environment variable to '1' in both driver and executor sides if you use pyarrow>=2.0.0."
)


def test_the_notice_of_pyspark_4_1_is_left_out_and_no_other_warning():
    made = []
    session = SimpleNamespace(createDataFrame=lambda *arguments: made.append(arguments))
    python_frames._leave_out_notice.cache_clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        python_frames.activate(session)
        warnings.warn(NOTICE, stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert [str(each.message) for each in seen] == ["something else"]
    assert len(made) == 1
