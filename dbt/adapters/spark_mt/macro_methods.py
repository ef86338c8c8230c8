"""What macros ask of the adapter about materialized tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import available
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.spark_mt import listing
from dbt.adapters.spark_mt.contract import contract_items, documented_items
from dbt.adapters.spark_mt.definition.identifier import TableName, quote_text
from dbt.adapters.spark_mt.execution.results import StatementOutcome
from dbt.adapters.spark_mt.failures import translated
from dbt.adapters.spark_mt.model_config import settings_of
from dbt.adapters.spark_mt.python_models import require_sql
from dbt.adapters.spark_mt.response import combine, response_of, validated
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from dbt.adapters.base.relation import BaseRelation
    from dbt.adapters.contracts.connection import AdapterResponse

    from dbt.adapters.spark_mt.api import KeptConfiguration
    from dbt.adapters.spark_mt.config import ModelSettings
    from dbt.adapters.spark_mt.config_values import Adopt, Waiting
    from dbt.adapters.spark_mt.contract import Items
    from dbt.adapters.spark_mt.cursor import SparkHandle
    from dbt.adapters.spark_mt.response import MaterializedTableResponse


class MaterializedTableAdapter(SparkAdapter):
    """The part of the adapter that the materialization and its macros call."""

    def _handle(self) -> SparkHandle:
        handle: SparkHandle = self.connections.get_thread_connection().handle
        return handle

    @available.parse(lambda *_, **__: None)
    def materialized_table_settings(self, config: Any) -> ModelSettings | None:  # noqa: ANN401 - Jinja's config object
        """The validated config of the model that runs."""
        with translated("config"):
            return settings_of(config.model, self.config.models)

    @available
    def require_sql(self, model: dict[str, Any], materialized: str) -> None:
        """Refuse a Python model for a materialization that is a stored query."""
        with translated("language"):
            require_sql(model, materialized)

    @available.parse(lambda *_, **__: [])
    def materialized_columns(self, sql: str) -> list[tuple[str, str]]:
        """Name and type of the columns of a materialized table's query; nothing is computed."""
        handle = self._handle()
        with translated(sql), handle.busy(with_metadata=True):
            return [(column.name, column.type) for column in handle.tables().columns(sql)]

    @available.parse(lambda *_, **__: [])
    def query_columns(self, sql: str) -> list[tuple[str, str]]:
        """Name and type of a query's columns; nothing is computed."""
        handle = self._handle()
        with translated(sql), handle.busy():
            schema = handle.spark.sql(sql).schema
        return [(field.name, listing.type_of(field)) for field in schema.fields]

    @available.parse_none
    def validate_materialized_table(
        self, statement: str, adopt: Adopt | None = None
    ) -> AdapterResponse:
        """Check a CREATE statement completely and change nothing.

        Args:
            statement: The statement.
            adopt: How a plain table would be taken over; None where it would not.
        """
        handle = self._handle()
        adopting, as_of = adopt is not None, adopt.as_of if adopt else None
        with translated(statement), handle.busy():
            outcome = handle.tables().validate(statement, adopting=adopting, as_of=as_of)
        return validated(outcome)

    @available.parse_none
    def adopt_materialized_table(self, statement: str, adopt: Adopt) -> AdapterResponse:
        """Carry out CREATE OR ALTER and take the plain table that has the name over as it is."""
        handle = self._handle()
        with translated(statement), handle.busy():
            return response_of(handle.tables().adopt(statement, as_of=adopt.as_of))

    @available.parse_none
    def release_materialized_table(self, relation: BaseRelation) -> None:
        """Make a plain table of a materialized one, which keeps rows, files and history."""
        handle = self._handle()
        with translated(f"release of {relation}"), handle.busy():
            handle.tables().release(_name(relation).sql)
        self.cache_dropped(relation)  # it is looked for anew, as what it is now

    @available.parse_none
    def keep_configuration(self, statement: str) -> KeptConfiguration:
        """The statement with every aspect but the query as it is stored."""
        handle = self._handle()
        with translated(statement), handle.busy():
            return handle.tables().keep_configuration(statement)

    @available.parse_none
    def refresh_materialized_table(self, relation: BaseRelation) -> AdapterResponse:
        """Refresh a table even if no source has moved."""
        handle = self._handle()
        with translated(f"refresh of {relation}"), handle.busy():
            outcome = handle.tables().refresh(self.full_name(relation), force=True)
        return response_of(StatementOutcome(outcome.table, None, refresh=outcome))

    @available.parse(lambda *_, **__: False)
    def is_kept_fresh(self, relation: BaseRelation) -> bool:
        """Whether a living manager refreshes a table by itself."""
        handle = self._handle()
        with translated(f"looking for the manager of {relation}"), handle.busy():
            return bool(handle.tables().keeper(self.full_name(relation)))

    @available.parse_none
    def await_materialized_table(self, relation: BaseRelation, waiting: Waiting) -> None:
        """Wait for the manager that keeps a table fresh, as the model's config says."""
        handle = self._handle()
        with translated(f"waiting for {relation}"), handle.busy():
            name = self.full_name(relation)
            handle.tables().wait_for(name, waiting.until, waiting.at_most_s)

    @available.parse(lambda *_, **__: False)
    def is_materialized_table(self, relation: BaseRelation) -> bool:
        """Look at the table itself; a listing goes by the registry, which then follows."""
        handle = self._handle()
        with translated(f"looking at {relation}"), handle.busy():
            tables, name = handle.tables(), _name(relation)
            if not tables.is_materialized(name):
                return False
            tables.register(name)
            return True

    @available.parse_none
    def registry_follows(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Let the registry know a table by its new name."""
        handle = self._handle()
        with translated(f"rename of {from_relation}"), handle.busy():
            tables = handle.tables()
            tables.register(_name(to_relation))
            tables.forget(_name(from_relation))

    @available.parse(lambda *_, **__: False)
    def query_reads(self, sql: str, relation: BaseRelation) -> bool:
        """Whether a query reads a relation, directly or through views."""
        handle = self._handle()
        with translated(sql), handle.busy():
            return handle.tables().reads(sql, _name(relation))

    @available
    def column_items(
        self, model: dict[str, Any], settings: ModelSettings, columns: list[tuple[str, str]] | None
    ) -> Items:
        """The items of a model's column list.

        Args:
            model: The model.
            settings: Its validated config.
            columns: The query's columns where descriptions become comments.
        """
        key = settings.primary_key
        if model["config"]["contract"]["enforced"]:
            return contract_items(model, key, comments=columns is not None)
        return documented_items(columns or [], model["columns"] if columns else {}, key)

    @available
    def combine_responses(
        self, main: MaterializedTableResponse, refresh: MaterializedTableResponse
    ) -> MaterializedTableResponse:
        """One response for a statement and the refresh after it."""
        return combine(main, refresh)

    @available
    def is_materialized_table_statement(self, sql: str) -> bool:
        """Whether a statement is one of ours."""
        with translated(sql):
            return parse_statement(sql) is not None

    @available
    def full_name(self, relation: BaseRelation) -> str:
        """A relation's name with every part in backticks."""
        return _name(relation).sql

    @available
    def quote_text(self, text: str) -> str:
        """A Spark string literal."""
        return quote_text(text)


def _name(relation: BaseRelation) -> TableName:
    parts = (relation.database, relation.schema, relation.identifier)
    return TableName.of(*(part for part in parts if part))
