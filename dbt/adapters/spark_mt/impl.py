"""The dbt adapter `SparkMTAdapter`: what dbt and the macros call."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from dbt.adapters.base.impl import BaseAdapter, ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import AdapterTrackingRelationInfo
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.events.base_types import EventLevel
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.adapter import catalog as listing
from dbt.adapters.spark_mt.adapter import (
    column_list,
    data_tests,
    materialization,
    plain_tables,
    responses,
    seeds,
)
from dbt.adapters.spark_mt.adapter import run_operations as operations
from dbt.adapters.spark_mt.adapter.config import ModelSettings, settings_of
from dbt.adapters.spark_mt.adapter.debug import facts
from dbt.adapters.spark_mt.adapter.materialization import Method
from dbt.adapters.spark_mt.adapter.python_models import ModelCode, require_sql, submit
from dbt.adapters.spark_mt.adapter.sql_header import SessionState, statements_of_header
from dbt.adapters.spark_mt.connections import SparkMTConnectionManager
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName, quote, quote_text
from dbt.adapters.spark_mt.definition.errors import ConfigurationChangedError
from dbt.adapters.spark_mt.execution import failing_rows
from dbt.adapters.spark_mt.handle import SparkDatabaseError, logger, translated
from dbt.adapters.spark_mt.relation import SparkMTRelation, is_spark_catalog
from dbt.adapters.spark_mt.spark.delta.releases import check_session
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.iceberg import releases as iceberg_releases
from dbt.adapters.spark_mt.statements.parser import ParsedStatement, is_ours
from dbt.adapters.spark_mt.statements.values import query_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import agate
    from dbt.adapters.base.impl import FreshnessResponse
    from dbt.adapters.base.relation import BaseRelation, InformationSchema
    from dbt.adapters.catalogs._integration import CatalogIntegrationConfig
    from dbt.adapters.contracts.macros import MacroResolverProtocol
    from dbt.adapters.contracts.relation import RelationConfig
    from dbt.adapters.spark.column import SparkColumn
    from dbt_common.contracts.metadata import CatalogTable
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.adapter.materialization import RelationStep
    from dbt.adapters.spark_mt.adapter.plain_tables import TableWrite
    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.definition.table_format import TableFormat
    from dbt.adapters.spark_mt.handle import Row, SparkHandle

    Act = Callable[[MaterializedTables, TableName], str]
    """Does something to a table and says what, in a few words."""


_WRITTEN = frozenset({"incremental", "seed", "snapshot", "table"})
"""dbt's materializations that write a table of the format in their config."""


class SparkMTAdapter(SparkAdapter):
    """dbt-spark with materialized tables, three-part names and sessions of its own."""

    Relation: ClassVar[type[SparkMTRelation]] = SparkMTRelation  # type: ignore[misc]
    ConnectionManager: ClassVar[type[SparkMTConnectionManager]] = SparkMTConnectionManager  # type: ignore[assignment, misc]
    connections: SparkMTConnectionManager
    CONSTRAINT_SUPPORT: ClassVar[dict[ConstraintType, ConstraintSupport]] = {  # type: ignore[misc]
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }
    _capabilities: ClassVar[CapabilityDict] = CapabilityDict(  # type: ignore[misc]
        {
            Capability.TableLastModifiedMetadata: CapabilitySupport(Support.Full),
            Capability.TableLastModifiedMetadataBatch: CapabilitySupport(Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(Support.Full),
        }
    )

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

    def pre_model_hook(self, config: Any) -> SessionState | None:  # noqa: ANN401 - Jinja's config object
        """Set the format of whatever does not name one, and run the statements of `sql_header`.

        Returns:
            The session before these statements; None without any.
        """
        node = getattr(config, "model", None)
        if node is None:
            return None
        self._settle_format(node)
        self._check_microbatch(node)
        statements = statements_of_header(node.config.get("sql_header"))
        # A materialized table refuses the key: its query runs again without dbt.
        if not statements or node.config.get("materialized") == "materialized_table":
            return None
        with self._session("sql_header") as spark:
            state = SessionState.of(spark)
        try:
            for statement in statements:
                self.execute(statement)
        except DbtRuntimeError:
            self._restore(state)
            raise
        return state

    @staticmethod
    def _check_microbatch(node: Any) -> None:  # noqa: ANN401 - dbt-core's node
        """Refuse a microbatch model without partitions, which dbt-spark does at its second batch.

        Raises:
            DbtDatabaseError: It has none.
        """
        read = node.config.get
        is_batched = read("incremental_strategy") == "microbatch"
        if is_batched and read("materialized") == "incremental" and not read("partition_by"):
            table = f"{node.database}.{node.schema}.{node.alias}"
            error = conditions.MICROBATCH_PARTITIONS(table=table)
            fire_event(Note(msg=str(error)), EventLevel.ERROR)  # dbt shows no error of a batch
            with translated("config"):
                raise error

    def _settle_format(self, node: Any) -> None:  # noqa: ANN401 - dbt-core's node
        """Give a node that names no format that of its catalog.

        Raises:
            DbtDatabaseError: It would write a table of another one.
        """
        given = node.config.get("file_format")
        if given is None:
            node.config["file_format"] = self._made_in(node.database).name
        elif (wanted := FORMATS.of(given)) and node.config.get("materialized") in _WRITTEN:
            made_in = self._made_in(node.database, wanted)
            if made_in is not wanted:
                with translated("config"):
                    raise conditions.FORMAT_OF_CATALOG(
                        table=f"{node.database}.{node.schema}.{node.alias}",
                        format=wanted.title,
                        name=wanted.name,
                        catalog=node.database,
                        made=made_in.title,
                        madeName=made_in.name,
                    )

    def _made_in(self, catalog: str, unless_known: TableFormat = FORMATS.default) -> TableFormat:
        """The format of the tables of a catalog.

        Args:
            catalog: The catalog.
            unless_known: The format where the class of the catalog does not say it. If it is the
                default, Spark's own catalog is not asked.
        """
        if is_spark_catalog(catalog) and unless_known is FORMATS.default:
            return unless_known
        with self._session(f"looking for the catalog {catalog}") as spark:
            found = FORMATS.of_catalog(catalog, lambda key: spark.conf.get(key, None))
        return unless_known if found is None else found

    def post_model_hook(self, config: Any, context: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """Undo what `sql_header` set: the next model of this thread has the same session."""
        if isinstance(context, SessionState):
            self._restore(context)

    def _restore(self, state: SessionState) -> None:
        with self._session("sql_header") as spark:
            state.restore(spark)

    def add_catalog_integration(self, catalog_integration: CatalogIntegrationConfig) -> NoReturn:
        """Refuse an entry of catalogs.yml, which describes tables of Iceberg."""
        raise DbtRuntimeError(str(conditions.CATALOGS_FILE(name=catalog_integration.name)))

    def _handle(self) -> SparkHandle:
        handle: SparkHandle = self.connections.get_thread_connection().handle
        return handle

    @contextmanager
    def working(self, what: str, *, with_metadata: bool = False) -> Iterator[MaterializedTables]:
        """The tables of this thread's connection, while Spark works on `what`."""
        handle = self._handle()
        with translated(what), handle.busy(with_metadata=with_metadata):
            yield handle.tables()

    @contextmanager
    def _session(self, what: str) -> Iterator[SparkSession]:
        """The session of this thread's connection, while Spark works on `what`."""
        handle = self._handle()
        with translated(what), handle.busy():
            yield handle.spark

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
        with self.working(f"listing {schema_relation}", with_metadata=True) as tables:
            names = tables.names(schema_relation.schema or "", schema_relation.database)
        catalog = schema_relation.database or self.config.credentials.database
        ours = frozenset(name.lower() for name in names)
        relations: list[BaseRelation] = list(listing.relations_of(rows, catalog, ours))
        relations += self._views(schema_relation)
        manifest = self.get_macro_resolver()
        if manifest is None or getattr(manifest, "functions", None):
            sql = listing.show_functions_sql(schema_relation)
            relations += listing.functions_of(self._fetch(sql), schema_relation, relations)
        return relations

    def _views(self, schema: BaseRelation) -> Iterator[SparkMTRelation]:
        """The views of a schema that SHOW TABLE EXTENDED leaves out.

        It has those of Spark's own catalog only.
        """
        if is_spark_catalog(schema.database):
            return iter(())
        try:
            rows = self._fetch(listing.show_views_sql(schema))
        except SparkDatabaseError as error:
            if error.failure.main_condition == "MISSING_CATALOG_ABILITY":
                return iter(())
            raise
        return listing.views_of(rows, schema)

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
        name = TableName(identifier, schema, catalog)
        with self._session(f"looking for {name}") as spark:
            if not spark.catalog.tableExists(name.sql):
                return None
        information = listing.information_of(self._describe(name))
        ours = self._registered(name)
        return listing.relation_of((catalog, schema, identifier), information, materialized=ours)

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """A relation's columns; none when it is not there."""
        try:
            with self._session(f"columns of {relation}") as spark:
                schema = spark.table(relation.render()).schema
        except SparkDatabaseError as error:
            if error.failure.is_missing_table:
                return []
            raise
        return listing.columns_of(relation, schema)

    def check_schema_exists(self, database: str | None, schema: str) -> bool:
        """Whether a schema is there."""
        return schema in self.list_schemas(database or self.config.credentials.database)

    def drop_schema(self, relation: BaseRelation) -> None:
        """Drop a schema with all that is in it.

        Only Spark's own catalog has CASCADE.
        """
        if not is_spark_catalog(relation.database):
            for each in self.list_relations_without_caching(relation):
                self.drop_relation(each)  # type: ignore[no-untyped-call]
        super().drop_schema(relation)

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
        for schema in sorted(schemas):
            with self.working(f"looking at {schema}") as tables:
                figures = tables.figures(schema, information_schema.database)
            for relation in self.list_relations(information_schema.database, schema):
                if relation.is_function:
                    continue
                known = figures.get(str(relation.identifier).lower(), ())
                rows += listing.catalog_rows(
                    relation, self._describe(materialization.name_of(relation)), known
                )
        return agate.Table.from_object(rows, column_types=DEFAULT_TYPE_TESTER)

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """What the docs catalog has of one relation; None where there is none."""
        name = materialization.name_of(relation)
        try:
            description = self._describe(name)
        except SparkDatabaseError as error:
            if error.failure.is_missing_table:
                return None
            raise
        with self.working(f"looking at {name}") as tables:
            found = tables.figures(name.schema or "", name.catalog, name=name.name)
        figures = next(iter(found.values()), ())
        return listing.catalog_table(listing.catalog_rows(relation, description, figures))

    def _describe(self, name: TableName) -> listing.Description:
        return listing.read_description(self._fetch(f"DESCRIBE TABLE EXTENDED {name.sql}"))

    @available.parse(lambda *_, **__: [])
    def changed_comments(
        self, relation: BaseRelation, described: Mapping[str, Mapping[str, Any]]
    ) -> list[tuple[str, str]]:
        """Name and description of the columns that have another comment."""
        with self._session(f"comments of {relation}") as spark:
            fields = spark.table(relation.render()).schema.fields
        return listing.changed_comments(fields, described)

    # Source freshness

    def calculate_freshness_from_metadata(
        self,
        source: BaseRelation,
        macro_resolver: MacroResolverProtocol | None = None,  # noqa: ARG002 - dbt's signature
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """How old a source is, by commits: no rows are read."""
        return None, self._freshness(source)

    def calculate_freshness_from_metadata_batch(
        self,
        sources: list[BaseRelation],
        macro_resolver: MacroResolverProtocol | None = None,  # noqa: ARG002 - dbt's signature
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """How old several sources are, by commits.

        One that has none is left out: dbt asks for it again, alone, and reports the error.
        """
        with self.connection_named("freshness of sources"):
            found = {source: self._freshness_if_known(source) for source in sources}
        return [], {source: known for source, known in found.items() if known is not None}

    def _freshness_if_known(self, source: BaseRelation) -> FreshnessResponse | None:
        try:
            return self._freshness(source)
        except DbtRuntimeError as error:
            if self._handle().is_cancelled:
                raise
            logger.debug(f"freshness of {source}: {error.msg}")
        return None

    def _freshness(self, source: BaseRelation) -> FreshnessResponse:
        with self.working(f"freshness of {source}", with_metadata=True) as tables:
            loaded_at = tables.loaded_at(materialization.name_of(source).sql)
        return self._create_freshness_response(loaded_at, datetime.now(timezone.utc))

    # Seeds

    @available
    def is_replaced_in_place(self, file_format: str | None) -> bool:
        """Whether one commit replaces a table of this format; None for that of its catalog."""
        return file_format is None or FORMATS.of(file_format) is not None

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
    def write_seed(
        self,
        relation: SparkMTRelation,
        existing: SparkMTRelation | None,
        agate_table: agate.Table,
        config: Mapping[str, Any],
        statement: tuple[str, str | None],
        *,
        full_refresh: bool,
    ) -> seeds.SeedResult:
        """Bring a seed's table in line with its file, in one commit or none.

        Args:
            relation: The seed's table.
            existing: What has its name now.
            agate_table: The file.
            config: The seed's config.
            statement: The statement that creates the table, up to its AS, and the comment in it.
            full_refresh: Whether the table is replaced in any case.
        """
        name, (create, comment) = materialization.name_of(relation), statement
        quoting = config.get("quote_columns")
        seed = seeds.Seed(
            name.sql,
            create,
            [
                (self.quote_seed_column(column, quoting), type_)
                for column, type_ in self._seed_columns(agate_table, config)
            ],
            agate_table.rows,
            seeds.configured_table(config, comment, str(relation.identifier)),
            FORMATS.of(config.get("file_format")),
        )

        def make_way() -> None:
            if existing is not None and existing.is_materialized_table and not seed.table.location:
                self.release_materialized_table(existing)
            elif existing is not None:
                self.drop_relation(existing)  # type: ignore[no-untyped-call]

        with self._session(f"looking for {name}") as spark:
            is_there = existing is not None and spark.catalog.tableExists(name.sql)
        description = self._describe(name) if is_there else None
        with self._session(f"loading {relation}") as spark:
            found = description and seeds.found_table(spark, name.sql, description, seed.format)
            if found and existing is not None and existing.is_materialized_table:
                found = replace(found, is_replaceable=False)
            action = seeds.write_seed(
                spark, seed, found, full_refresh=full_refresh, make_way=make_way
            )
        return seeds.SeedResult(action, len(agate_table.rows))

    def _seed_columns(
        self, agate_table: agate.Table, config: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        types = config.get("column_types") or {}
        return [
            (name, types.get(name) or self.convert_type(agate_table, index))
            for index, name in enumerate(agate_table.column_names)
        ]

    @available.parse_none
    def load_seed(
        self, relation: BaseRelation, agate_table: agate.Table, config: Mapping[str, Any]
    ) -> None:
        """Append a seed's rows to its table of another format."""
        columns = self._seed_columns(agate_table, config)
        with self._session(f"loading {relation}") as spark:
            seeds.load_seed(spark, relation.render(), columns, agate_table.rows)

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
        return AdapterResponse(_message="OK")

    @classmethod
    def quote(cls, identifier: str) -> str:
        """An identifier in backticks."""
        return quote(identifier)

    def debug_query(self) -> None:
        """Check, for `dbt debug`, what a session needs; an error names the line to add.

        It first prints which Spark is checked, why that one, and what of it listens where.
        """
        handle = self._handle()
        for fact in facts(handle):
            fire_event(Note(msg=fact))
        with self._session("checking the session") as spark:
            check_session(spark)
            iceberg_releases.check_session(spark)
        self.list_schemas(self.config.credentials.database)
        self.execute("select 1 as id")

    # Plain tables

    @available.parse_none
    def plan_write(
        self, relation: SparkMTRelation, existing: SparkMTRelation | None, file_format: str | None
    ) -> TableWrite:
        """How a table takes the place of what has its name; a clone has no format."""
        return plain_tables.plan_write(relation, existing, file_format)

    @available.parse_none
    def prepare_write(self, write: TableWrite, query: str) -> None:
        """Do what has to be done before a table is written.

        The query is analysed before something is dropped or released for it.
        """
        if write.needs_valid_query:
            self.query_columns(query)
        self._carry_out(write.steps_before)

    @available.parse_none
    def finish_write(self, write: TableWrite) -> None:
        """Give a written table its name."""
        self._carry_out(write.steps_after)

    def _carry_out(self, steps: Iterable[RelationStep]) -> None:
        for step in steps:
            if isinstance(step, materialization.Rename):
                self.rename_relation(step.relation, step.to)  # type: ignore[no-untyped-call]
            elif isinstance(step, materialization.Release):
                self.release_materialized_table(step.relation)
            else:
                self.drop_relation(step.relation)  # type: ignore[no-untyped-call]

    @available
    def header_of_query(self, header: str | None) -> str | None:
        """A header that is the beginning of a query; None for statements, which have run."""
        return None if statements_of_header(header) else header

    @available
    def constraint_guard(self, model: dict[str, Any], file_format: str | None) -> str:
        """A condition on the rows of a contracted model, which fails its query at a wrong one."""
        return plain_tables.constraints_of(model, file_format).guard()

    @available
    def constraint_statements(
        self, relation: BaseRelation, model: dict[str, Any], file_format: str | None
    ) -> list[str]:
        """The statements that add the constraints of a contract to a plain table."""
        constraints = plain_tables.constraints_of(model, file_format)
        return list(constraints.statements(materialization.name_of(relation).sql))

    @available
    def constraint_warnings(self, model: dict[str, Any], file_format: str | None) -> list[str]:
        """What a plain table has not of the constraints of a contract."""
        return list(plain_tables.constraints_of(model, file_format).warnings)

    # Models of materialized tables

    @available.parse(lambda *_, **__: None)
    def materialized_table_settings(self, config: Any) -> ModelSettings | None:  # noqa: ANN401 - Jinja's config object
        """The validated config of the model that runs."""
        made_in = self._made_in(config.model.database)
        with translated("config"):
            return settings_of(config.model, self.config.models, made_in)

    @available
    def require_sql(self, model: dict[str, Any], materialized: str) -> None:
        """Refuse a Python model for a materialization that is a stored query."""
        with translated("language"):
            require_sql(model, materialized)

    @available.parse_none
    def decide_materialization(
        self,
        relation: SparkMTRelation,
        existing: SparkMTRelation | None,
        settings: ModelSettings,
        *,
        full_refresh: bool,
        validates: bool,
    ) -> materialization.Decision:
        """What this run does for a model; the statement is rendered for the decision's target."""
        if existing is not None and existing.is_table and self.is_materialized_table(existing):
            existing = existing.as_table()
        with translated(f"decision for {relation}"):
            return materialization.decide(
                relation, existing, settings, full_refresh=full_refresh, validates=validates
            )

    @available.parse_none
    def materialize(
        self,
        decision: materialization.Decision,
        statement: str,
        settings: ModelSettings,
        query: str,
    ) -> responses.MaterializedTableResponse:
        """Carry a decision out, and bring the rows up to date as the model's config asks.

        Args:
            decision: The decision.
            statement: Its rendered statement.
            settings: The model's validated config.
            query: The model's compiled SQL.

        Raises:
            FailFastError: The configuration changed, and `on_configuration_change` is `fail`.
            DbtDatabaseError: The statement is not valid or failed.
        """
        relation = decision.relation
        with self.working(statement) as tables:
            parsed = ParsedStatement.of(statement)
            materialization.check_swap(tables, decision, query)
            if decision.validates:
                return responses.validated(tables.validate(parsed, adopt=decision.adopt))
            try:
                kept = materialization.settled(tables, decision, parsed, settings)
            except ConfigurationChangedError as error:
                from dbt.exceptions import FailFastError  # noqa: PLC0415 - dbt-core is slow to load

                raise FailFastError(str(error)) from error
        self._carry_out(decision.steps_before)
        if decision.method in {Method.REPLACE, Method.ADOPT} and decision.existing is not None:
            logger.debug(f"Applying {decision.method.value.upper()} to: {relation}")
        response = self.connections.materialize(
            kept.parsed, refresh=settings.refresh_on_run, adopt=decision.adopt
        )
        if response.is_altered:
            logger.debug(f"Applying ALTER to: {relation}")
        self._carry_out(decision.steps_after)
        if not response.is_settled:
            wait, name = settings.wait, materialization.name_of(relation)
            with self.working(f"waiting for {relation}") as tables:
                tables.wait_for(name.sql, wait.until, wait.at_most_s)
        return materialization.completed(response, decision, kept)

    @available
    def query_text(self, sql: str) -> str:
        """A model's query without the semicolon that may end it."""
        return query_text(sql)

    @available.parse(lambda *_, **__: [])
    def materialized_columns(self, sql: str) -> list[tuple[str, str]]:
        """Name and type of the columns of a materialized table's query; nothing is computed."""
        with self.working(sql, with_metadata=True) as tables:
            return [(column.name, column.type) for column in tables.columns(sql)]

    @available.parse(lambda *_, **__: [])
    def query_columns(self, sql: str) -> list[tuple[str, str]]:
        """Name and type of a query's columns; nothing is computed."""
        with self._session(sql) as spark:
            schema = spark.sql(sql).schema
        return [(field.name, listing.type_of(field)) for field in schema.fields]

    @available
    def column_items(
        self, model: dict[str, Any], settings: ModelSettings, columns: list[tuple[str, str]] | None
    ) -> column_list.Items:
        """The items of a model's column list; `columns` where descriptions become comments."""
        return column_list.column_items(model, settings.primary_key, columns)

    @available.parse_none
    def release_materialized_table(self, relation: BaseRelation) -> None:
        """Make a plain table of a materialized one, which keeps rows, files and history."""
        with self.working(f"release of {relation}") as tables:
            tables.release(materialization.name_of(relation).sql)
        self.cache_dropped(relation)  # the next check finds it as a plain table

    @available.parse(lambda *_, **__: False)
    def is_materialized_table(self, relation: BaseRelation) -> bool:
        """Look at the table itself, and correct the registry, by which listings go."""
        return self._registered(materialization.name_of(relation))

    def _registered(self, name: TableName) -> bool:
        with self.working(f"looking at {name}") as tables:
            ours = tables.is_materialized(name)
            if ours:
                tables.register(name)
            return ours

    @available.parse_none
    def registry_follows(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Register a renamed table by its new name."""
        with self.working(f"rename of {from_relation}") as tables:
            tables.register(materialization.name_of(to_relation))
            tables.forget(materialization.name_of(from_relation))

    @available
    def is_materialized_table_statement(self, sql: str) -> bool:
        """Whether a statement is one of ours."""
        return is_ours(sql)

    @available
    def full_name(self, relation: BaseRelation) -> str:
        """A relation's name with every part in backticks."""
        return materialization.name_of(relation).sql

    @available
    def quote_text(self, text: str) -> str:
        """A Spark string literal."""
        return quote_text(text)

    # Run-operations and tests

    @available.parse_none
    def plan_materialized_tables(
        self, select: object, *, full_refresh: bool
    ) -> operations.PlanReport:
        """What a run would do for the selected models; nothing is changed."""
        manifest = self._manifest()
        with translated("plan"):
            models = operations.select_models(operations.nodes_in_order(manifest), select)
            tables = self._handle().tables()
            project = operations.Project(
                self.config, manifest, tables, self._existing, self._made_in
            )
            return operations.plan_models(project, models, full_refresh=full_refresh)

    def _existing(self, name: TableName) -> SparkMTRelation | None:
        found = self.get_relation(name.catalog, name.schema or "", name.name)
        return found if isinstance(found, SparkMTRelation) else None

    @available.parse_none
    def failures_of_plan(
        self, report: operations.PlanReport, fail_on: str | None
    ) -> tuple[str, ...]:
        """The tables for whose plan the operation fails."""
        with translated("fail_on"):
            return report.failures(fail_on)

    @available.parse_none
    def suspend_models(self, select: object) -> Iterator[operations.OperationResult]:
        """Suspend the tables of the selected models, one by one."""
        return self._each(select, operations.suspend)

    @available.parse_none
    def resume_models(
        self, select: object, run_options: Mapping[str, object] | None
    ) -> Iterator[operations.OperationResult]:
        """Resume the tables of the selected models, one by one, each with the run options."""
        options = {str(key): str(value) for key, value in (run_options or {}).items()}
        return self._each(select, partial(operations.resume, run_options=options))

    @available.parse_none
    def refresh_models(
        self, select: object, *, force: bool
    ) -> Iterator[operations.OperationResult]:
        """Refresh the tables of the selected models, one by one."""
        return self._each(select, partial(operations.refresh, force=force))

    @available.parse_none
    def drop_orphans(
        self, schemas: list[str] | None, *, dry_run: bool
    ) -> Iterator[operations.OperationResult]:
        """Drop the tables whose model is gone, one by one, or list them."""
        nodes = operations.nodes_in_order(self._manifest())
        places = operations.schemas_of(nodes, schemas, self.config.credentials.database)
        with self.working("orphans") as tables:
            found = [d for catalog, schema in places for d in tables.declared(schema, catalog)]
        for orphan in operations.orphaned_tables(self.config.project_name, found, nodes):
            what = f"{orphan.reason} ({orphan.owner})"
            if dry_run:
                yield operations.OperationResult(str(orphan.name), f"would be dropped, {what}")
            else:
                yield self._attempt(orphan.name, partial(operations.drop, what=what))

    @available
    def fail_operation(self, failures: list[str]) -> None:
        """End the operation with what went wrong.

        Raises:
            DbtRuntimeError: There is something.
        """
        if failures:
            raise DbtRuntimeError("\n".join(failures))

    @available.parse(lambda *_, **__: "")
    def stale_rows_sql(self, relation: BaseRelation, within: str | None) -> str:
        """A query for the rows that say why a table is not fresh."""
        return self._rows_sql(relation, partial(data_tests.stale_rows, within=within))

    @available.parse(lambda *_, **__: "")
    def differing_rows_sql(self, relation: BaseRelation, show: int) -> str:
        """A query for the rows by which a table differs from its query."""
        return self._rows_sql(relation, partial(failing_rows.differing_rows, limit=show))

    @available.parse(lambda *_, **__: "")
    def unhealthy_rows_sql(self, relation: BaseRelation) -> str:
        """A query for the rows that say why a table is not healthy."""
        return self._rows_sql(relation, failing_rows.unhealthy_rows)

    def _rows_sql(
        self,
        relation: BaseRelation,
        find: Callable[[MaterializedTables, str], Iterator[failing_rows.FailingRow]],
    ) -> str:
        with self.working(f"test of {relation}") as tables:
            return data_tests.rows_query(find(tables, self.full_name(relation)))

    def _manifest(self) -> Any:  # noqa: ANN401 - dbt-core's Manifest
        manifest = self.get_macro_resolver()
        if manifest is None:
            raise DbtRuntimeError("dbt has not given the adapter its project.")  # noqa: EM101, TRY003 - dbt's error class takes a text
        return manifest

    def _each(self, select: object, act: Act) -> Iterator[operations.OperationResult]:
        with translated("select"):
            models = operations.select_models(operations.nodes_in_order(self._manifest()), select)
        return (self._attempt(model.relation, act) for model in models)

    def _attempt(self, name: TableName, act: Act) -> operations.OperationResult:
        """Do it; a failure becomes a result, a cancellation ends the operation."""
        try:
            with self.working(f"operation on {name}") as tables:
                return operations.OperationResult(str(name), act(tables, name))
        except DbtRuntimeError as error:
            if self._handle().is_cancelled:
                raise
            return operations.OperationResult(str(name), str(error.msg), failed=True)
