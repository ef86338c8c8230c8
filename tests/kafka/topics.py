"""Topics of a test's broker: written by Spark, managed with the Java client that Spark carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from pyspark.sql import SparkSession

_ADMIN = "org.apache.kafka.clients.admin"


class Topics:
    """Makes topics, fills them, and takes records away.

    Args:
        spark: A classic session whose class path has the connector.
        servers: `kafka.bootstrap.servers`.
    """

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark = spark
        self.servers = servers
        self._jvm: Any = spark.sparkContext._jvm
        properties = self._jvm.java.util.Properties()
        properties.put("bootstrap.servers", servers)
        self._client = self._jvm.org.apache.kafka.clients.admin.Admin.create(properties)

    def close(self) -> None:
        """Leave the broker."""
        self._client.close()

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make an empty topic."""
        optional = self._jvm.java.util.Optional
        new = self._jvm.org.apache.kafka.clients.admin.NewTopic(
            topic, optional.of(partitions), optional.empty()
        )
        self._client.createTopics(self._list(new)).all().get()

    def delete(self, topic: str) -> None:
        """Remove a topic."""
        self._client.deleteTopics(self._list(topic)).all().get()

    def grow(self, topic: str, partitions: int) -> None:
        """Let a topic have so many partitions."""
        new = self._jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        self._client.createPartitions(self._map(topic, new)).all().get()

    def write(self, topic: str, values: Iterable[object], partition: int = 0) -> None:
        """Append records whose values are the texts of `values`, in their order."""
        records = [(str(value), partition) for value in values]
        rows = self._spark.createDataFrame(records, "value string, partition int").coalesce(1)
        writer = rows.write.format("kafka").option("kafka.bootstrap.servers", self.servers)
        writer.option("topic", topic).save()

    def record(self, topic: str, value: object, at: datetime, partition: int = 0) -> None:
        """Append a record with a time of its own, to the millisecond."""
        clients = self._jvm.org.apache.kafka.clients.producer
        properties = self._jvm.java.util.Properties()
        properties.put("bootstrap.servers", self.servers)
        for part in "key", "value":
            properties.put(
                f"{part}.serializer", "org.apache.kafka.common.serialization.StringSerializer"
            )
        producer = clients.KafkaProducer(properties)
        at_ms = round(at.timestamp() * 1000)
        producer.send(clients.ProducerRecord(topic, partition, at_ms, None, str(value))).get()
        producer.close()

    def expire(self, topic: str, before: int, partition: int = 0) -> None:
        """Take away the records below an offset, as a topic's retention does."""
        of = self._jvm.org.apache.kafka.common.TopicPartition(topic, partition)
        self._client.deleteRecords(self._map(of, self._before(before))).all().get()

    def table(self, spark: SparkSession, name: str, topic: str = "", **options: str) -> None:
        """Make a table of the catalog over a topic, or over what the options name."""
        given = {"kafka.bootstrap.servers": self.servers} | options
        if topic:
            given["subscribe"] = topic
        listed = ", ".join(f"'{key}' '{value}'" for key, value in given.items())
        spark.sql(f"CREATE TABLE {name} USING kafka OPTIONS ({listed})")

    def _before(self, offset: int) -> object:
        """`RecordsToDelete.beforeOffset`, which py4j confuses with the getter of that name."""
        gateway: Any = self._spark.sparkContext._gateway
        lang = self._jvm.java.lang
        types = gateway.new_array(lang.Class, 1)
        types[0] = lang.Long.TYPE
        values = gateway.new_array(lang.Object, 1)
        values[0] = lang.Long.valueOf(offset)
        loader = lang.Thread.currentThread().getContextClassLoader()
        method = loader.loadClass(f"{_ADMIN}.RecordsToDelete").getMethod("beforeOffset", types)
        return method.invoke(None, values)

    def _list(self, item: object) -> object:
        made = self._jvm.java.util.ArrayList()
        made.add(item)
        return made

    def _map(self, key: object, value: object) -> object:
        made = self._jvm.java.util.HashMap()
        made.put(key, value)
        return made
