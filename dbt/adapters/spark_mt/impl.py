"""The dbt adapter; what it does is in the modules that it calls."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.base.impl import BaseAdapter
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import AdapterTrackingRelationInfo
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note

from dbt.adapters.spark_mt import listing, seeds
from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.connections import SparkMTConnectionManager
from dbt.adapters.spark_mt.definition.identifier import TableName, quote
from dbt.adapters.spark_mt.failures import SparkDatabaseError, translated
from dbt.adapters.spark_mt.operations import OperationsAdapter
from dbt.adapters.spark_mt.python_models import ModelCode, submit
from dbt.adapters.spark_mt.relation import SparkMTRelation
from dbt.adapters.spark_mt.response import response_of
from dbt.adapters.spark_mt.spark.preflight import check_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    import agate
    from dbt.adapters.base.relation import BaseRelation, InformationSchema
    from dbt.adapters.contracts.connection import AdapterResponse
    from dbt.adapters.contracts.relation import RelationConfig
    from dbt.adapters.spark.column import SparkColumn

    from dbt.adapters.spark_mt.cursor import Row
    from dbt.adapters.spark_mt.execution.figures import Figure

_DEFAULT_FILE_FORMAT = "delta"


class SparkMTAdapter(OperationsAdapter):
    """dbt-spark with materialized tables, three-part names and sessions of its own."""

    Relation: ClassVar[type[SparkMTRelation]] = SparkMTRelation  # type: ignore[misc]
    ConnectionManager: ClassVar[type[SparkMTConnectionManager]] = SparkMTConnectionManager  # type: ignore[assignment, misc]
    connections: SparkMTConnectionManager

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> AdapterTrackingRelationInfo:
        """What dbt tracks of a run; the inherited one derives our module from the class's name."""
        return AdapterTrackingRelationInfo(  # type: ignore[abstract]
            adapter_name="spark_mt",
            base_adapter_version=import_module("dbt.adapters.__about__").version,
            adapter_version=version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {**super()._get_adapter_specific_run_info(config), "adapter_type": "spark_mt"}

    def pre_model_hook(self, config: Any) -> None:  # noqa: ANN401 - Jinja's config object
        """Make Delta the format of whatever does not name another one."""
        node = getattr(config, "model", None)
        if node is not None and node.config.get("file_format") is None:
            node.config["file_format"] = _DEFAULT_FILE_FORMAT

    def _fetch(self, sql: str) -> list[Row]:
        _, cursor = self.connections.add_select_query(sql)
        with translated(sql):
            rows: list[Row] = cursor.fetchall()
        return rows

    # Relations

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Everything in a schema; a schema that is not there has nothing."""
        try:
            rows = self._fetch(listing.show_tables_sql(schema_relation))
        except SparkDatabaseError as error:
            if error.failure.is_missing_table:
                return []
            raise
        catalog = schema_relation.database or self.config.credentials.database
        return list(listing.relations_of(rows, catalog, self._materialized(schema_relation)))

    def _materialized(self, schema: BaseRelation) -> frozenset[str]:
        handle = self._handle()
        with handle.busy(with_metadata=True):
            names = handle.tables().names(schema.schema or "", schema.database)
        return frozenset(name.lower() for name in names)

    def get_relation(
        self, database: str | None, schema: str, identifier: str
    ) -> BaseRelation | None:
        """A relation by its name.

        One that the listing did not show is looked for directly: what a faulty listing hides must
        not be taken for absent and created over.
        """
        catalog = database or self.config.credentials.database
        found: BaseRelation | None = BaseAdapter.get_relation(self, catalog, schema, identifier)
        if found is None and identifier:
            found = self._look_for(catalog, schema, identifier)
            if found is not None:
                self.cache_added(found)
        return found

    def _look_for(self, catalog: str, schema: str, identifier: str) -> SparkMTRelation | None:
        handle, name = self._handle(), TableName(identifier, schema, catalog)
        with translated(f"looking for {name}"), handle.busy():
            if not handle.spark.catalog.tableExists(name.sql):
                return None
        rows = self._fetch(f"DESCRIBE TABLE EXTENDED {name.sql}")
        information = listing.information_of(listing.read_description(rows))
        with translated(f"looking at {name}"), handle.busy():
            ours = handle.tables().is_materialized(name)
            if ours:
                handle.tables().register(name)
        return listing.relation_of((catalog, schema, identifier), information, materialized=ours)

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """A relation's columns; none when it is not there."""
        handle = self._handle()
        try:
            with translated(f"columns of {relation}"), handle.busy():
                schema = handle.spark.table(relation.render()).schema
        except SparkDatabaseError as error:
            if error.failure.is_missing_table:
                return []
            raise
        return listing.columns_of(relation, schema)

    def check_schema_exists(self, database: str | None, schema: str) -> bool:
        """Whether a schema is there."""
        return schema in self.list_schemas(database or self.config.credentials.database)

    def list_schemas(self, database: str) -> list[str]:
        """The names of a catalog's schemas."""
        return [row[0] for row in self._fetch(f"SHOW SCHEMAS IN {quote(database)}")]

    # Docs

    get_catalog = BaseAdapter.get_catalog

    def _get_one_catalog(
        self,
        information_schema: InformationSchema,
        schemas: set[str],
        used_schemas: Any,  # noqa: ANN401, ARG002
    ) -> agate.Table:
        import agate  # noqa: PLC0415 - as dbt does: slow to load

        rows: list[dict[str, Any]] = []
        handle = self._handle()
        for schema in sorted(schemas):
            with translated(f"looking at {schema}"), handle.busy():
                figures = handle.tables().figures(schema, information_schema.database)
            for relation in self.list_relations(information_schema.database, schema):
                known = figures.get(str(relation.identifier).lower(), ())
                rows += self._catalog_rows(relation, known)
        return agate.Table.from_object(rows, column_types=DEFAULT_TYPE_TESTER)

    def _catalog_rows(
        self, relation: BaseRelation, figures: Iterable[Figure]
    ) -> list[dict[str, Any]]:
        name = TableName.of(
            *filter(None, (relation.database, relation.schema, relation.identifier))
        )
        rows = self._fetch(f"DESCRIBE TABLE EXTENDED {name.sql}")
        return listing.catalog_rows(relation, listing.read_description(rows), figures)

    # Seeds

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """The type of a seed's column of numbers."""
        with translated("seed"):
            return seeds.number_type(agate_table, col_idx)

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """The type of a seed's column of whole numbers."""
        return seeds.integer_type(agate_table, col_idx)

    @available.parse_none
    def load_seed(
        self, relation: BaseRelation, agate_table: agate.Table, types: dict[str, str]
    ) -> None:
        """Append a seed's rows to its table."""
        names = agate_table.column_names
        columns = [
            (name, types.get(name) or self.convert_type(agate_table, index))
            for index, name in enumerate(names)
        ]
        handle = self._handle()
        with translated(f"loading {relation}"), handle.busy():
            seeds.load_seed(handle.spark, relation.render(), columns, agate_table.rows)

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        """Run a Python model in this process, in the session of this thread's connection.

        Raises:
            DbtRuntimeError: The model raised an exception, or returned no DataFrame.
        """
        handle = self._handle()
        code = ModelCode.of(parsed_model, compiled_code, Path(self.config.project_root))
        with handle.busy():
            submit(handle.spark, code)
        return response_of(None)

    @classmethod
    def quote(cls, identifier: str) -> str:
        """An identifier in backticks."""
        return quote(identifier)

    def debug_query(self) -> None:
        """Check, for `dbt debug`, what a session needs; an error names the line to add.

        Which Spark is checked, and why that one, is told first.
        """
        handle = self._handle()
        if handle.way is not None:
            where = "a server" if handle.way.is_connect else "dbt's own process"
            fire_event(Note(msg=f"Spark runs in {where}: {handle.way.why}."))
        with translated("checking the session"), handle.busy():
            check_session(handle.spark)
        self.list_schemas(self.config.credentials.database)
        self.execute("select 1 as id")
