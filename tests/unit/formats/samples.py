"""Values of everything that is stored, each with all of its fields given.

The files under `golden/` hold their texts as release 0.1 writes them. A new stored field gets
its default here, and a sample of its own with a golden text of its own.
"""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.definition.columns import (
    Check,
    Column,
    ColumnSpec,
    FieldName,
    PrimaryKey,
    QueryContext,
    SourceColumns,
    TableName,
)
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    RefreshMetadata,
)
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    EarlierRefresh,
    LastRefresh,
    ResolvedDefinition,
    StoredDefinition,
    StreamMetadata,
)
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.job import (
    ContinuousRefreshHandler,
    FullRefreshHandler,
    Job,
    JobKind,
    JobStatus,
    Lease,
    Owner,
    StoredHandler,
)
from dbt.adapters.spark_mt.definition.modes import (
    FROM_BEGINNING,
    KEEP_NONE,
    IntervalUnit,
    LogicalRefreshMode,
    RefreshMode,
    RefreshStatus,
    ResolvedStartMode,
    StartInterval,
    StartMode,
    StartModeType,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.definition.positions import (
    ADOPTED,
    BEFORE_ALL,
    Baseline,
    DefinitionPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.verification import (
    RowDifference,
    Side,
    Verification,
    VerificationResult,
)
from dbt.adapters.spark_mt.planning.steps import Register

NAME = TableName("high_value_orders", "sales", "spark_catalog")
ZONE = "spark.sql.session.timeZone"

SIMPLE = StoredDefinition(
    table_id="0c6b4fd4-5a5e-4f7e-9a3c-0d8f6f3f6b52",
    name=NAME,
    generation=1,
    resolved=ResolvedDefinition(
        declared=DeclaredDefinition(query="SELECT user_id FROM orders WHERE price > 1000"),
        columns=(Column("user_id", "INT"),),
        expanded_query="SELECT user_id FROM spark_catalog.sales.orders WHERE price > 1000",
        context=QueryContext("spark_catalog", "sales", ((ZONE, "UTC"),)),
        freshness=Freshness(3, TimeUnit.MINUTE),
        refresh_mode=RefreshMode.CONTINUOUS,
        start_mode=ResolvedStartMode(FROM_BEGINNING),
        state_retention=KEEP_NONE,
    ),
)

KAFKA = OffsetPosition("kafka", '{"orders":{"0":12,"1":7}}')

EVERYTHING = StoredDefinition(
    table_id="0c6b4fd4-5a5e-4f7e-9a3c-0d8f6f3f6b52",
    name=NAME,
    generation=7,
    resolved=ResolvedDefinition(
        declared=DeclaredDefinition(
            query="SELECT id, 'ü😀${x}' AS `a b`, day FROM orders -- the \"end\"\n",
            columns=(
                ColumnSpec("id", "BIGINT", not_null=True, comment="the 'key'"),
                ColumnSpec("a b"),
                ColumnSpec("day", "STRING"),
            ),
            constraints=(
                PrimaryKey(("id", "day"), "pk"),
                Check("id >= 0", "positive"),
                Check("day <> ''"),
            ),
            comment="it's 😀",
            partitioned_by=("day",),
            options=(
                ("partition.fields.day.date-formatter", "yyyy-MM-dd"),
                ("my.password", "geheim"),
                ("location", "/data/orders"),
            ),
            freshness=Freshness(1, TimeUnit.DAY),
            refresh_mode=LogicalRefreshMode.FULL,
            start_mode=StartMode(
                StartModeType.RESUME_OR_FROM_NOW, StartInterval(7, IntervalUnit.DAY)
            ),
            state_retention=StateRetention(StateRetentionType.PTF_ONLY, ("a", "b")),
        ),
        columns=(
            Column("id", "BIGINT", nullable=False, comment="the 'key'"),
            Column("a b", "STRING"),
            Column("day", "STRING", nullable=True, comment=None),
        ),
        expanded_query="SELECT id, 'ü😀${x}' AS `a b`, day FROM spark_catalog.sales.orders",
        context=QueryContext(
            "spark_catalog", "sales", (("spark.sql.ansi.enabled", "true"), (ZONE, "Europe/Berlin"))
        ),
        freshness=Freshness(1, TimeUnit.DAY),
        refresh_mode=RefreshMode.FULL,
        start_mode=ResolvedStartMode(
            StartMode(StartModeType.RESUME_OR_FROM_NOW, StartInterval(7, IntervalUnit.DAY)),
            1_762_250_400_000,
        ),
        state_retention=StateRetention(StateRetentionType.PTF_ONLY, ("a", "b")),
        derived_from=(("default-freshness.full", "1 hour"), ("enricher", "default")),
        query_columns=("id", "a b", "day"),
    ),
    status=RefreshStatus.SUSPENDED,
    status_reason="3 refreshes failed",
    handler=b'{"kind": "\xff"}',
    owner=(("model", "model.shop.orders"), ("project", "shop")),
    changed_by=(("project", "other"),),
    run_options=(("max-offsets-per-trigger", "100"),),
    baseline=Baseline(
        (
            ("spark_catalog.sales.clicks", BEFORE_ALL),
            ("spark_catalog.sales.log", KAFKA),
            ("spark_catalog.sales.orders", VersionedPosition(3, "txn-3")),
        ),
        4,
        "START_MODE = FROM_NOW",
    ),
    fence=57,
    origin=(("spark_catalog.sales.log", OffsetPosition("kafka", '{"orders":{"0":0,"1":0}}')),),
)


def _declared(**values: object) -> StoredDefinition:
    resolved = SIMPLE.resolved
    return replace(
        SIMPLE, resolved=replace(resolved, declared=replace(resolved.declared, **values))
    )


def _resolved(**values: object) -> StoredDefinition:
    return replace(SIMPLE, resolved=replace(SIMPLE.resolved, **values))


_START_MODES = {
    "from beginning": FROM_BEGINNING,
    "from now": StartMode(StartModeType.FROM_NOW),
    **{
        f"from now {each.value.lower()}": StartMode(
            StartModeType.FROM_NOW, StartInterval(number, each)
        )
        for number, each in enumerate(IntervalUnit, 1)
    },
    "from timestamp": StartMode(StartModeType.FROM_TIMESTAMP, timestamp="2025-01-01 00:00:00"),
    "resume or from beginning": StartMode(StartModeType.RESUME_OR_FROM_BEGINNING),
    "resume or from now": StartMode(StartModeType.RESUME_OR_FROM_NOW),
    "resume or from timestamp": StartMode(
        StartModeType.RESUME_OR_FROM_TIMESTAMP, timestamp="2025-01-01"
    ),
}
_RETENTIONS = {
    "all": StateRetention(StateRetentionType.ALL),
    "none": KEEP_NONE,
    "ptf only": StateRetention(StateRetentionType.PTF_ONLY),
    "ptf only some": StateRetention(StateRetentionType.PTF_ONLY, ("op",)),
}

CREATED = _resolved(query_columns=("user_id",))
"""As a CREATE stores it; SIMPLE has every default."""

DEFINITIONS: dict[str, StoredDefinition] = {
    "simple": SIMPLE,
    "everything": EVERYTHING,
    "as created": CREATED,
    "clustered, unnamed key": _declared(
        clustered_by=("user_id", "a b"), constraints=(PrimaryKey(("user_id",)),)
    ),
    "changed by nobody in particular": replace(SIMPLE, changed_by=()),
    "source columns": _resolved(
        source_columns=(
            SourceColumns(
                "spark_catalog.sales.orders",
                (
                    FieldName("user_id"),
                    FieldName("a b", (FieldName("x"), FieldName("y", (FieldName("z"),)))),
                ),
            ),
            SourceColumns("spark_catalog.sales.empty", ()),
        )
    ),
    "names in one part": replace(SIMPLE, name=TableName("t")),
    "adopted": replace(
        SIMPLE,
        baseline=Baseline((("spark_catalog.sales.orders", VersionedPosition(0, "a")),), 0, ADOPTED),
        fence=3,
    ),
    "from now without rows": replace(
        SIMPLE, baseline=Baseline((("c.s.log", KAFKA),), None, "START_MODE = FROM_NOW")
    ),
    **{f"status {each.value.lower()}": replace(SIMPLE, status=each) for each in RefreshStatus},
    **{
        f"freshness {each.name.lower()}": _resolved(freshness=Freshness(2, each))
        for each in TimeUnit
    },
    **{f"mode {each.value.lower()}": _resolved(refresh_mode=each) for each in RefreshMode},
    **{
        f"asked mode {each.value.lower()}": _declared(refresh_mode=each)
        for each in LogicalRefreshMode
    },
    **{f"asked start {key}": _declared(start_mode=mode) for key, mode in _START_MODES.items()},
    **{
        f"start {key}": _resolved(start_mode=ResolvedStartMode(mode, 1_735_689_600_000))
        for key, mode in _START_MODES.items()
    },
    **{f"asked state {key}": _declared(state_retention=r) for key, r in _RETENTIONS.items()},
    **{f"state {key}": _resolved(state_retention=r) for key, r in _RETENTIONS.items()},
}

POSITIONS = {
    "spark_catalog.sales.function": DefinitionPosition("1a2b3c4d"),
    "spark_catalog.sales.jdbc": UnknownPosition(),
    "spark_catalog.sales.log": KAFKA,
    "spark_catalog.sales.orders": VersionedPosition(12, "txn-12"),
    "spark_catalog.sales.unread": BEFORE_ALL,
}
_ID = SIMPLE.table_id
_REFRESH = RefreshMetadata("r-1", "incremental/append", "REFRESH", 1_762_250_400_000)
_CONTENT = CommitMetadata(_ID, CommitKind.CONTENT, seq=9, generation=2, positions=POSITIONS)

COMMITS: dict[str, CommitMetadata] = {
    "after refreshes by another strategy": replace(
        _CONTENT,
        refresh=replace(_REFRESH, repeated=3, earlier=(EarlierRefresh("recompute", 5_200, 4),)),
    ),
    "after refreshes of known sizes": replace(
        _CONTENT,
        refresh=replace(
            _REFRESH,
            repeated=2,
            earlier=(EarlierRefresh("recompute", 5_200, 4, 20_000_000),),
            source_rows=6_000,
        ),
    ),
    "in a process that had just started": replace(
        _CONTENT,
        refresh=replace(
            _REFRESH,
            earlier=(
                EarlierRefresh("recompute", 5_200, 4, None, is_cold=True),
                EarlierRefresh("incremental/differential", 1_200, 5, 60, is_cold=False),
            ),
            is_cold=True,
        ),
    ),
    "everything": CommitMetadata(
        table_id=_ID,
        kind=CommitKind.CONTENT,
        seq=3,
        token="5f",  # noqa: S106 - distinguishes commits
        generation=2,
        definition="789c03",
        positions=POSITIONS,
        refresh=_REFRESH,
        stream=StreamMetadata("000003-r-1", 5),
        foreign=((2, "WRITE"), (7, "DELETE ü")),
    ),
    "applied to": CommitMetadata(
        table_id=_ID,
        kind=CommitKind.CONTENT,
        seq=5,
        generation=2,
        positions=POSITIONS,
        refresh=_REFRESH,
        foreign=((2, "WRITE"),),
        applied_to=11,
    ),
    "partition": CommitMetadata(
        table_id=_ID,
        kind=CommitKind.PARTITION,
        seq=4,
        token="60",  # noqa: S106
        generation=2,
        positions={},
        partition_positions=POSITIONS,
        refresh=_REFRESH,
    ),
    **{
        kind.value: CommitMetadata(_ID, kind, seq, 1, token="t")  # noqa: S106
        for seq, kind in enumerate(CommitKind, 1)
        if kind is not CommitKind.PARTITION
    },
}

HANDLERS = {
    "continuous": ContinuousRefreshHandler("host:1", "query", "1.2", "/checkpoints/ü"),
    "full": FullRefreshHandler("embedded", "workflow", "0 * * * *"),
}
WORKFLOWS = {
    "any bytes": StoredHandler("ticket 7, ü", "mine:create", "an-id", bytes(range(256))),
    "not serialized": StoredHandler("ticket 7", "mine:create", "an-id"),
}

HERE = Owner("host", 4711, "boot-1:99", "ada")
RECORDED_AT_MS = 1_762_250_500_000

REGISTERED: dict[str, Register] = {
    "filled": Register(
        SIMPLE,
        3,
        POSITIONS,
        LastRefresh(
            "r-1", "incremental/append", "REFRESH", 1_762_250_400_000, 1_762_250_410_000, 5
        ),
    ),
    "everything": Register(EVERYTHING, 9, None, None),
    "of no source": Register(
        SIMPLE, 1, {}, LastRefresh("r-2", "full/recompute", "CREATE", 1, 2, None)
    ),
}

_JOB = Job(
    job_id="j-1",
    table=NAME,
    kind=JobKind.SCHEDULED,
    status=JobStatus.FAILED,
    started_at_ms=1_762_250_400_000,
    last_heartbeat_ms=1_762_250_420_000,
    owner=HERE,
    trigger="REFRESH",
    creates=True,
    refresh_mode="FULL",
    freshness="INTERVAL '1' DAY",
    ended_at_ms=1_762_250_420_000,
    rows=12,
    error='it\'s "bad" ü\n',
    scheduled_at_ms=1_762_250_000_000,
)
JOBS: dict[str, Job] = {
    "everything": _JOB,
    **{
        f"status {status.value.lower()}": Job(
            "j-2", NAME, JobKind.MANUAL, status, 1, 2, Owner("host", 1), "CREATE"
        )
        for status in JobStatus
    },
    **{f"kind {kind.value.lower()}": replace(_JOB, kind=kind) for kind in JobKind},
    "verification": replace(
        _JOB,
        kind=JobKind.VERIFICATION,
        creates=False,
        scheduled_at_ms=None,
        verification=Verification(
            VerificationResult.DIFFERENT,
            "r-1",
            7,
            "id-1",
            2,
            total=5,
            rows=(
                RowDifference(Side.MISSING, '{"k":"ü"}', 1),
                RowDifference(Side.UNEXPECTED, '{"k":null}', 2),
            ),
            repair_id="r-2",
            repair_problem="it's full",
        ),
    ),
    "accepted": Job(
        "j-3",
        NAME,
        JobKind.MANUAL,
        JobStatus.RUNNING,
        1,
        2,
        Owner("host", 1),
        "REST",
        request='{"partition": [["ds", "\'2026-11-21\'"]], "trigger": "REST"}',
    ),
}

LEASES: dict[str, Lease] = {
    "held": Lease(
        "spark_catalog",
        4,
        HERE,
        1_762_250_400_000,
        "http://127.0.0.1:8765",
        (("a", "1"), ("spark.materialized-table.enricher", "default")),
        45_000,
    ),
    "released": Lease("spark_catalog", 5, Owner("other", 2), 1_762_250_400_001, is_released=True),
}

MANAGERS: dict[str, Discovered] = {
    "serving": Discovered(
        HERE, "sc://localhost:15002", "s3cret", "http://localhost:8765", "t0ken-ü"
    ),
    "starting": Discovered(Owner("host", 1)),
}
