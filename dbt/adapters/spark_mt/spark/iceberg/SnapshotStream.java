package dbt.adapters.spark_mt;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.TimeTravel;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.None$;
import scala.Option;

/**
 * Stream of the snapshots of an Iceberg table after a snapshot, whose batches are Iceberg's scans.
 *
 * A batch ends with a snapshot, and reads what the snapshots since the batch before appended. The
 * first batch reads the whole table where the stream begins before all rows. The stream ends with
 * an error at a snapshot that changes rows in another way, where `main` no longer comes from the
 * last snapshot, and where a column is another one.
 *
 * Iceberg's own stream cannot begin after a snapshot that overwrites or deletes. It reads nothing
 * of a first snapshot that is a compaction, and does not apply delete files.
 *
 * Janino compiles this in the driver: no generics, no lambdas, no two `catch` clauses of a `try`.
 * Only the driver has these classes: partitions and their readers are Iceberg's.
 */
public final class SnapshotStream
        implements SupportsRead, ScanBuilder, Scan, MicroBatchStream, SupportsTriggerAvailableNow {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Option NONE = (Option) (Object) None$.MODULE$;
    static final String APPEND = "append";
    static final String COMPACTION = "replace";
    /** What a summary counts where rows came or went, or were written again. */
    static final String[] FILES = new String[] {
        "added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files"
    };

    private final Table table;
    private final String uuid;
    private final Schema opened;
    private final StructType columns;
    private final Position initial;
    private Position last = null;
    private PartitionReaderFactory readers = null;

    /**
     * @param table The table, as its catalog has it now.
     * @param initial The offset after which the stream begins; empty to begin before all rows.
     */
    public SnapshotStream(Table table, String initial) throws Exception {
        this.table = table;
        this.uuid = table.uuid().toString();
        this.opened = table.schema();
        // A column may lose NOT NULL while the stream runs.
        this.columns = SparkSchemaUtil.convert(opened).asNullable();
        this.initial = initial.isEmpty() ? new Position(uuid, -1L, "") : Position.of(initial);
    }

    /** Return the stream as a frame of a session. */
    public Dataset frame(SparkSession session) {
        return Dataset$.MODULE$.ofRows(session, new StreamingRelationV2(
            NONE, name(), this, CaseInsensitiveStringMap.empty(),
            DataTypeUtils.toAttributes(columns), NONE, NONE, NONE));
    }

    public String name() {
        return table.name();
    }

    public StructType schema() {
        return columns;
    }

    public Set capabilities() {
        return Collections.singleton(TableCapability.MICRO_BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return this;
    }

    public Scan build() {
        return this;
    }

    public StructType readSchema() {
        return columns;
    }

    public Scan.ColumnarSupportMode columnarSupportMode() {
        return Scan.ColumnarSupportMode.UNSUPPORTED;
    }

    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        return this;
    }

    public Offset initialOffset() {
        return initial;
    }

    public Offset deserializeOffset(String json) {
        return Position.of(json);
    }

    public Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks for an offset after another one");
    }

    public void prepareForTriggerAvailableNow() {
        refresh();
        this.last = newest();
    }

    /** Return the newest snapshot, at most the last one of a run; nothing if there is no new one. */
    public Offset latestOffset(Offset start, ReadLimit limit) {
        refresh();
        Position begin = (Position) start;
        Position end = last == null ? newest() : last;
        if (end.json().equals(begin.json()) || begin.number < 0 && end.number == 0) {
            return null;
        }
        appends(begin, end);
        return end;
    }

    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        refresh();
        Position begin = (Position) start;
        Position until = (Position) end;
        appends(begin, until);
        Map options = new HashMap();
        options.put("vectorization-enabled", "false"); // the readers of all batches are the same
        if (!begin.snapshot.isEmpty()) {
            options.put("start-snapshot-id", begin.snapshot);
            options.put("end-snapshot-id", until.snapshot);
        }
        boolean isWhole = begin.snapshot.isEmpty() && !until.json().equals(newest().json());
        SparkTable read = isWhole
            ? SparkTable.create(table, TimeTravel.version(until.snapshot)) : new SparkTable(table);
        ScanBuilder builder = read.newScanBuilder(new CaseInsensitiveStringMap(options));
        ((SupportsPushDownRequiredColumns) builder).pruneColumns(columns);
        Scan scan = builder.build();
        if (!scan.readSchema().sameType(columns)) {
            throw failed("its columns are others now");
        }
        Batch batch = scan.toBatch();
        this.readers = batch.createReaderFactory();
        return batch.planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
        return readers;
    }

    public void commit(Offset end) {
    }

    public void stop() {
    }

    private Position newest() {
        Snapshot head = table.currentSnapshot();
        return head == null
            ? new Position(uuid, 0L, "")
            : new Position(uuid, head.sequenceNumber(), String.valueOf(head.snapshotId()));
    }

    /** Read the table again; no column may have become another one. */
    private void refresh() {
        table.refresh();
        List fields = opened.columns();
        for (int i = 0; i < fields.size(); i++) {
            Types.NestedField field = (Types.NestedField) fields.get(i);
            Types.NestedField now = table.schema().findField(field.fieldId());
            if (now == null || !now.name().equals(field.name())
                    || !now.type().equals(field.type())) {
                throw failed("its column " + field.name() + " is another one now");
            }
        }
    }

    /** Check that the snapshots after an offset up to another one add rows and change none. */
    private void appends(Position begin, Position end) {
        if (!begin.table.equals(uuid) || !end.table.equals(uuid)) {
            throw failed("it was dropped and created again");
        }
        if (begin.number < 0 || begin.json().equals(end.json())) {
            return;
        }
        Snapshot each = end.snapshot.isEmpty() ? null : table.snapshot(Long.parseLong(end.snapshot));
        Snapshot changing = null;
        boolean isRoot = false;
        while (each != null && !begin.snapshot.equals(String.valueOf(each.snapshotId()))) {
            changing = changesRows(each) ? each : changing;
            isRoot = each.parentId() == null;
            each = isRoot ? null : table.snapshot(each.parentId().longValue());
        }
        if (each == null && !(isRoot && begin.snapshot.isEmpty())) {
            throw failed("main does not lead from version " + begin.number + " to version "
                + end.number + ": it was rolled back or replaced, or snapshots expired");
        }
        if (changing != null) {
            throw failed("version " + changing.sequenceNumber() + " is of the operation "
                + changing.operation() + ", which changes or removes rows");
        }
    }

    /** Whether rows changed or left: files came or went, other than by an append or a compaction. */
    private static boolean changesRows(Snapshot snapshot) {
        String operation = snapshot.operation();
        if (operation.equals(APPEND) || operation.equals(COMPACTION)) {
            return false;
        }
        boolean changes = false;
        for (int i = 0; i < FILES.length; i++) {
            Object count = snapshot.summary().get(FILES[i]);
            changes = changes || count != null && !count.equals("0");
        }
        return changes;
    }

    private IllegalStateException failed(String problem) {
        return new IllegalStateException("The stream of " + name() + " ends: " + problem);
    }

    /** An offset: up to which snapshot of which table rows were read. */
    public static final class Position extends Offset {
        final String table;
        final long number;
        final String snapshot;

        Position(String table, long number, String snapshot) {
            this.table = table;
            this.number = number;
            this.snapshot = snapshot;
        }

        static Position of(String json) {
            try {
                JsonNode node = JSON.readTree(json);
                return new Position(node.get("table_uuid").asText(),
                    node.get("sequence_number").asLong(), node.get("snapshot_id").asText());
            } catch (Exception error) {
                throw new IllegalArgumentException("no offset of a snapshot: " + json, error);
            }
        }

        public String json() {
            return "{\"table_uuid\":\"" + table + "\",\"sequence_number\":" + number
                + ",\"snapshot_id\":\"" + snapshot + "\"}";
        }
    }
}
