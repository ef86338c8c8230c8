"""Ends of Spark Connect sessions in PySpark 4.1, whose threads all sessions of a process share."""

from __future__ import annotations

from dbt.adapters.spark_mt.spark.session.private_session import keep_shared_threads


def test_the_end_of_a_session_leaves_the_threads_of_the_others():
    from pyspark.sql.connect.client.core import SparkConnectClient
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

    client = SparkConnectClient("sc://localhost:9")
    keep_shared_threads(client)
    threads = ExecutePlanResponseReattachableIterator._get_or_create_release_thread_pool()
    client.close()
    assert client.is_closed
    assert threads.submit(int).result() == 0
    other = SparkConnectClient("sc://localhost:9")
    other.close()  # what PySpark does
    assert threads._shutdown
