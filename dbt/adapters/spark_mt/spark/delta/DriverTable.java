package dbt.adapters.spark_mt;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.commands.DMLWithDeletionVectorsHelper$;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.DeletionVectorData;
import org.apache.spark.sql.delta.commands.DeletionVectorWriter$;
import org.apache.spark.sql.delta.commands.TouchedFileWithDV;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArrayFormat$;
import org.apache.spark.sql.delta.deletionvectors.StoredBitmap$;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore$;
import org.apache.spark.sql.delta.util.Utils$;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.sketch.BloomFilter;
import scala.Function1;
import scala.None$;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.IterableOnce;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ListBuffer;

/**
 * A Delta table that the driver reads and writes without a job that reads its log: the checksum of
 * the last commit has the numbers of fences, and lists the files of a table that has few. Where it
 * does not, Delta finds them.
 *
 * A write is one transaction with a fence: rows are added, and none, all or some of those that are
 * there are removed. Statements of SQL do the same. But a fenced one reads the state of the table
 * first, in three jobs of Spark, for the number that is taken already. And none removes rows by a
 * hundred thousand values and adds others in one commit.
 *
 * The condition that finds some rows are Bloom filters over two hashes, so neither its text nor its
 * time grow with the rows. A filter takes some other row for one of them about once in 10^14 rows.
 * So nothing is written unless exactly as many rows were found as were expected. The rows are
 * marked in deletion vectors. Delta's DELETE does that in some ten jobs. Where the files are listed
 * and the rows are few enough for the driver, one job finds them, and the driver writes the
 * vectors.
 *
 * Janino compiles this in the driver: no generics, no lambdas, no two `catch` clauses of a `try`.
 */
public final class DriverTable extends scala.runtime.AbstractFunction1 {
    static final double WRONGLY_FOUND = 1e-7;
    /** Spark derives all bits of a value from two numbers below the size of the filter. */
    static final long LEAST_SIZE = 10000L;
    /** Of the filter that excludes most rows: one of 270 others passes it. */
    static final long COARSE_BITS = 32L;
    static final long COARSE_LOOKS = 2L;
    /** Up to how many rows the driver marks: it holds the file and the place of each. */
    static final long MOST_MARKED = 100000L;
    static final Option NONE = (Option) (Object) None$.MODULE$;
    /** Keeps each digit of a decimal: statistics are read and written again. */
    static final ObjectMapper JSON = new ObjectMapper()
        .setNodeFactory(JsonNodeFactory.withExactBigDecimals(true))
        .configure(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, true);
    /** Of columns whose values only statements of SQL check, fill up, or make. */
    static final String[] OF_SQL = {
        "__CHAR_VARCHAR_TYPE_STRING", "delta.generationExpression", "delta.identity.start"};

    private final SparkSession session;
    private final String name;
    private String fence;
    private long number;
    private Dataset added;
    private boolean removesAll = false;
    private long expected = 0L;
    private DeleteCommand all;
    private Dataset allHashes;
    private DeleteCommand few;
    private Dataset fewHashes;
    private long leastBytes = Long.MAX_VALUE;
    private DeltaOperations.Operation operation;
    private String outcome = "";

    /**
     * @param session The session; its confs have the metadata of a commit.
     * @param name The table, as SQL names it.
     */
    public DriverTable(SparkSession session, String name) {
        this.session = session;
        this.name = name;
    }

    /**
     * Return the rows in the files that may have rows that meet a condition; null where the files
     * are not listed.
     *
     * @param condition The condition, on columns of `t`.
     */
    public Dataset rows(String condition) throws Exception {
        DeleteCommand read = analysed("DELETE FROM " + name + " AS t WHERE " + condition);
        Snapshot snapshot = read.deltaLog().unsafeVolatileSnapshot();
        Seq files = candidates((Expression) read.condition().get(), snapshot);
        return files == null
            ? null : (Dataset) read.deltaLog().createDataFrame(snapshot, files, false, NONE);
    }

    /**
     * Begin a write.
     *
     * @param fence The application whose number the commit takes.
     * @param number That number.
     * @param added The rows to add, in the order of the columns.
     */
    public void begin(String fence, long number, Dataset added) {
        this.fence = fence;
        this.number = number;
        this.added = added;
    }

    /** Add the rows; return nothing where that is done, or else why it is not. */
    public String append() throws Exception {
        return run(write(SaveMode.Append, NONE));
    }

    /** Add the rows in place of all that are there; returns as `append` does. */
    public String overwrite() throws Exception {
        removesAll = true;
        return run(write(SaveMode.Overwrite, NONE));
    }

    /**
     * Name the columns that find rows to remove.
     *
     * @param statement A DELETE of the rows whose hashes are 0.
     * @param hashes The two hashes of each row to remove, in two columns.
     */
    public void findBy(String statement, Dataset hashes) throws Exception {
        this.all = analysed(statement);
        this.allHashes = hashes;
    }

    /** Find them in a table of so many bytes and more by fewer columns first. */
    public void findFirstBy(String statement, Dataset hashes, long leastBytes) throws Exception {
        this.few = analysed(statement);
        this.fewHashes = hashes;
        this.leastBytes = leastBytes;
    }

    /**
     * Add the rows in place of those that are found; returns as `append` does.
     *
     * @param expected How many rows are to be removed.
     * @param predicate What the commit says of its condition.
     */
    public String replace(long expected, String predicate) throws Exception {
        this.expected = expected;
        return run(write(SaveMode.Overwrite, new Some(predicate)));
    }

    private String run(DeltaOperations.Operation operation) throws Exception {
        Option before = SparkSession$.MODULE$.getActiveSession();
        SparkSession$.MODULE$.setActiveSession(session); // of it Delta reads what a commit carries
        try {
            this.operation = operation;
            DeleteCommand table = analysed("DELETE FROM " + name);
            table.deltaLog().withNewTransaction(table.catalogTable(), NONE, this);
            if (outcome.isEmpty()) {
                session.sharedState().cacheManager().recacheByPlan(session, table.target());
            }
        } finally {
            SparkSession$.MODULE$.clearActiveSession();
            if (before.isDefined()) {
                SparkSession$.MODULE$.setActiveSession((SparkSession) before.get());
            }
        }
        return outcome;
    }

    public Object apply(Object transaction) {
        OptimisticTransaction txn = (OptimisticTransaction) transaction;
        if (committed(txn) >= number) {
            return null; // as Delta skips such a write: the session has no new version then
        }
        if (!hasColumnsOf(txn.metadata().schema())) {
            outcome = "the rows to add have other columns";
            return null;
        }
        IterableOnce removed = removed(txn);
        if (removed != null) {
            Long now = Long.valueOf(System.currentTimeMillis());
            ListBuffer actions = new ListBuffer();
            actions.append(new SetTransaction(fence, number, new Some(now)));
            actions.appendAll(removed);
            actions.appendAll((IterableOnce) txn.writeFiles(added));
            txn.commit(actions.toList(), operation);
        }
        return null;
    }

    /** Return what removes rows; nothing where others were found, or not all of them. */
    private IterableOnce removed(OptimisticTransaction txn) {
        if (removesAll) {
            return allFiles(txn);
        }
        if (all == null) {
            return new ListBuffer();
        }
        IterableOnce removed = null;
        if (leastBytes < Long.MAX_VALUE && bytes(txn) >= leastBytes) {
            removed = found(few, fewHashes, txn);
        }
        return removed == null ? found(all, allHashes, txn) : removed;
    }

    private IterableOnce allFiles(OptimisticTransaction txn) {
        Seq files = listed(txn.snapshot());
        if (files == null) {
            files = txn.filterFiles();
        } else {
            txn.trackReadPredicates(
                new ListBuffer().append(Literal$.MODULE$.TrueLiteral()).toList(), false, true);
            txn.trackFilesRead(files);
        }
        ListBuffer actions = new ListBuffer();
        scala.collection.Iterator each = files.iterator();
        while (each.hasNext()) {
            actions.append(
                ((AddFile) each.next()).removeWithTimestamp(System.currentTimeMillis(), true));
        }
        return actions;
    }

    /** Return the files of a table by the checksum of its last commit; null where it lists none. */
    public Seq listed(Snapshot snapshot) {
        Option found = snapshot.checksumOpt();
        VersionChecksum checksum = found.isEmpty() ? null : (VersionChecksum) found.get();
        if (checksum == null || checksum.allFiles().isEmpty()) {
            return null;
        }
        Seq files = (Seq) checksum.allFiles().get();
        long bytes = 0L;
        scala.collection.Iterator each = files.iterator();
        while (each.hasNext()) {
            bytes += ((AddFile) each.next()).size();
        }
        boolean isWhole = files.size() == checksum.numFiles() && bytes == checksum.tableSizeBytes();
        return isWhole ? files : null;
    }

    /** Return the last number of the fence; the state of the table is read where no checksum has it. */
    private long committed(OptimisticTransaction txn) {
        Option checksum = txn.snapshot().checksumOpt();
        Option listed = checksum.isEmpty()
            ? NONE : ((VersionChecksum) checksum.get()).setTransactions();
        if (listed.isEmpty()) {
            return txn.txnVersion(fence);
        }
        txn.readTxn().append(fence); // so that another commit of the fence is a conflict
        long last = -1L;
        scala.collection.Iterator transactions = ((Seq) listed.get()).iterator();
        while (transactions.hasNext()) {
            SetTransaction each = (SetTransaction) transactions.next();
            last = each.appId().equals(fence) ? Math.max(last, each.version()) : last;
        }
        return last;
    }

    private IterableOnce found(DeleteCommand read, Dataset hashes, OptimisticTransaction txn) {
        Row[] rows = (Row[]) hashes.collect();
        long size = Math.max(LEAST_SIZE, (long) rows.length);
        Expression[] filters = new Expression[] {
            literal(rows, 0, BloomFilter.create(size, WRONGLY_FOUND)),
            literal(rows, 1, BloomFilter.create(size, WRONGLY_FOUND)),
            literal(rows, 0, coarse(size))};
        Expression condition = withFilters((Expression) read.condition().get(), filters);
        DeleteCommand delete = new DeleteCommand(
            read.deltaLog(), read.catalogTable(), read.target(), new Some(condition));
        Seq files = expected > MOST_MARKED ? null : candidates(condition, txn.snapshot());
        Map places = files == null ? null : places(delete, condition, files, txn);
        if (places != null) {
            return marked(delete, places, files, txn);
        }
        Tuple2 removed = delete.performDelete(session, delete.deltaLog(), txn);
        AccumulatorV2 counted = (AccumulatorV2) delete.metrics().apply("numDeletedRows");
        long count = ((Long) counted.value()).longValue();
        return isAsExpected(count) ? (IterableOnce) removed._1() : null;
    }

    /** Return the size of a table: its state, which is read by three jobs, is not asked for it. */
    private static long bytes(OptimisticTransaction txn) {
        Option checksum = txn.snapshot().checksumOpt();
        return checksum.isEmpty()
            ? txn.snapshot().sizeInBytes() : ((VersionChecksum) checksum.get()).tableSizeBytes();
    }

    private boolean isAsExpected(long count) {
        outcome = count == expected ? "" : count + " rows were found, and not " + expected;
        return outcome.isEmpty();
    }

    /**
     * Return the listed files that may have rows that meet a condition; null where none are listed,
     * and where Delta has to look at them for their statistics.
     */
    private Seq candidates(Expression condition, Snapshot snapshot) {
        Seq listed = listed(snapshot);
        if (listed == null) {
            return null;
        }
        List bounds = Bound.of(condition, snapshot.metadata().schema());
        ListBuffer found = new ListBuffer();
        scala.collection.Iterator files = listed.iterator();
        while (files.hasNext()) {
            AddFile file = (AddFile) files.next();
            JsonNode statistics = statistics(file);
            boolean isTight = child(statistics, "tightBounds").asBoolean(true);
            if (!statistics.has("numRecords") || isTight && file.deletionVector() != null) {
                return null; // they count the rows without those that a vector marks
            }
            boolean isRead = true;
            for (int i = 0; isRead && i < bounds.size(); i++) {
                isRead = ((Bound) bounds.get(i)).allows(file, statistics);
            }
            if (isRead) {
                found.append(file);
            }
        }
        return found.toList();
    }

    private static JsonNode statistics(AddFile file) {
        return parsed(file.stats() == null || file.stats().isEmpty() ? "{}" : file.stats());
    }

    /** Return a part of a node, or a node that says it is missing. */
    private static JsonNode child(JsonNode node, String name) {
        return (JsonNode) node.path(name); // Janino finds that of a supertype, which is less
    }

    private static JsonNode parsed(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Find the places of rows in each file by one job, those of rows that a vector marks already
     * too; return null for more than the driver holds.
     */
    private Map places(
            DeleteCommand delete, Expression condition, Seq files, OptimisticTransaction txn) {
        txn.trackReadPredicates(new ListBuffer().append(condition).toList(), false, true);
        txn.trackFilesRead(files);
        TahoeBatchFileIndex index = new TahoeBatchFileIndex(
            session, "delete", withoutVectors(files), delete.deltaLog(),
            delete.deltaLog().dataPath(), txn.snapshot(), false);
        Dataset rows = (Dataset) DMLWithDeletionVectorsHelper$.MODULE$
            .createTargetDfForScanningForMatches(session, delete.target(), index)
            .filter(ExpressionUtils$.MODULE$.column(condition))
            .select(new Column[] {
                functions.col("_metadata.file_path"), functions.col("_metadata.row_index")});
        LogicalPlan most = new LocalLimit(
            new Literal(Integer.valueOf((int) MOST_MARKED + 1), DataTypes.IntegerType),
            rows.queryExecution().logical());
        Tuple2 found = Dataset$.MODULE$.ofRows(session, most)
            .queryExecution().executedPlan().executeCollectIterator();
        long count = ((Long) found._1()).longValue();
        return count > MOST_MARKED ? null : byFile((scala.collection.Iterator) found._2());
    }

    /** Return files that are read with all rows: Delta looks up each row of a file in its vector. */
    private static Seq withoutVectors(Seq files) {
        ListBuffer found = new ListBuffer();
        scala.collection.Iterator each = files.iterator();
        while (each.hasNext()) {
            AddFile file = (AddFile) each.next();
            if (file.deletionVector() != null) {
                ObjectNode action = (ObjectNode) parsed(file.json());
                ((ObjectNode) action.get("add")).remove("deletionVector");
                file = (AddFile) Action$.MODULE$.fromJson(action.toString());
            }
            found.append(file);
        }
        return found.toList();
    }

    /** Mark rows; return what does it, or null where they are not as many as expected. */
    private IterableOnce marked(
            DeleteCommand delete, Map placesByFile, Seq files, OptimisticTransaction txn) {
        Path table = delete.deltaLog().dataPath();
        Configuration conf = delete.deltaLog().newDeltaHadoopConf();
        DeletionVectorStore store = DeletionVectorStore$.MODULE$.createInstance(conf);
        scala.collection.immutable.Map byName = delete.generateCandidateFileMap(table, files);
        ListBuffer vectors = new ListBuffer();
        long count = 0L;
        Iterator entries = placesByFile.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            String path = (String) entry.getKey();
            RoaringBitmapArray bitmap = (RoaringBitmapArray) entry.getValue();
            AddFile file = delete.getTouchedFile(table, path, byName);
            RoaringBitmapArray before = file.deletionVector() == null
                ? new RoaringBitmapArray()
                : StoredBitmap$.MODULE$.create(file.deletionVector(), table).load(store);
            bitmap.andNot(before);
            if (bitmap.isEmpty()) {
                continue;
            }
            count += bitmap.cardinality();
            bitmap.or(before);
            bitmap.runOptimize();
            byte[] bytes = bitmap.serializeAsByteArray(RoaringBitmapArrayFormat$.MODULE$.Portable());
            vectors.append(new DeletionVectorData(path, NONE, bytes, bitmap.cardinality()));
        }
        if (!isAsExpected(count)) {
            return null;
        }
        ((SQLMetric) delete.metrics().apply("numDeletedRows")).set(expected);
        txn.registerSQLMetrics(session, delete.metrics());
        Function1 write = DeletionVectorWriter$.MODULE$.createMapperToStoreDeletionVectors(
            session, conf, table, Utils$.MODULE$.getRandomPrefixLength(txn.metadata()));
        Seq written = ((scala.collection.Iterator) write.apply(vectors.iterator())).toList();
        return changed(DMLWithDeletionVectorsHelper$.MODULE$
            .findFilesWithMatchingRows(txn, byName, written));
    }

    /** Return the places of rows in each file, by its path. */
    private static Map byFile(scala.collection.Iterator places) {
        Map found = new HashMap();
        while (places.hasNext()) {
            InternalRow place = (InternalRow) places.next();
            String path = place.getUTF8String(0).toString();
            RoaringBitmapArray bitmap = (RoaringBitmapArray) found.get(path);
            if (bitmap == null) {
                bitmap = new RoaringBitmapArray();
                found.put(path, bitmap);
            }
            bitmap.add(place.getLong(1));
        }
        return found;
    }

    /** Return the actions for files with new vectors; those without other rows leave the table. */
    private static IterableOnce changed(Seq touched) {
        ListBuffer actions = new ListBuffer();
        scala.collection.Iterator files = touched.iterator();
        while (files.hasNext()) {
            TouchedFileWithDV each = (TouchedFileWithDV) files.next();
            AddFile file = each.fileLogEntry();
            if (each.isFullyReplaced()) {
                actions.append(file.removeWithTimestamp(System.currentTimeMillis(), true));
            } else {
                Tuple2 both = withWideBounds(file).removeRows(each.newDeletionVector(), false, true);
                actions.append(both._1());
                actions.append(both._2());
            }
        }
        return actions;
    }

    /** Return a file whose statistics say that some of its rows are gone. */
    private static AddFile withWideBounds(AddFile file) {
        ObjectNode action = (ObjectNode) parsed(file.json());
        ObjectNode statistics = (ObjectNode) statistics(file);
        statistics.put("tightBounds", false);
        ((ObjectNode) action.get("add")).put("stats", statistics.toString());
        return (AddFile) Action$.MODULE$.fromJson(action.toString());
    }

    private DeleteCommand analysed(String statement) throws Exception {
        LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(statement);
        return (DeleteCommand) session.sessionState().analyzer().execute(parsed);
    }

    /**
     * Return whether the rows to add have the types of the table: Delta casts none here. As in an
     * INSERT, columns count by their places.
     */
    private boolean hasColumnsOf(StructType columns) {
        StructField[] rows = added.schema().fields();
        StructField[] fields = columns.fields();
        boolean same = rows.length == fields.length;
        String[] names = new String[fields.length];
        for (int i = 0; same && i < rows.length; i++) {
            names[i] = fields[i].name();
            String type = fields[i].dataType().catalogString();
            same = rows[i].dataType().catalogString().equals(type);
            for (int k = 0; k < OF_SQL.length; k++) {
                same = same && !fields[i].metadata().contains(OF_SQL[k]);
            }
        }
        if (same) {
            added = (Dataset) added.toDF(names);
        }
        return same;
    }

    /**
     * Return a filter of few bits of each row. Spark looks at all bits of a row, also where the
     * first one excludes it.
     */
    private static BloomFilter coarse(long size) {
        long bits = size * COARSE_BITS;
        return BloomFilter.create(Math.round(bits * Math.log(2) / COARSE_LOOKS), bits);
    }

    private static Literal literal(Row[] rows, int place, BloomFilter filter) {
        for (int i = 0; i < rows.length; i++) {
            filter.putLong(rows[i].getLong(place));
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            filter.writeTo(bytes);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return new Literal(bytes.toByteArray(), DataTypes.BinaryType);
    }

    /** Put filters in the place of each comparison of a hash: the second has a number first. */
    private static Expression withFilters(Expression condition, Expression[] filters) {
        if (condition instanceof And) {
            And both = (And) condition;
            return new And(withFilters(both.left(), filters), withFilters(both.right(), filters));
        }
        if (condition instanceof EqualTo && ((EqualTo) condition).left() instanceof XxHash64) {
            XxHash64 hash = (XxHash64) ((EqualTo) condition).left();
            if (hash.children().head() instanceof Literal) {
                return new BloomFilterMightContain(filters[1], hash);
            }
            return new And(
                new BloomFilterMightContain(filters[2], hash),
                new BloomFilterMightContain(filters[0], hash));
        }
        return condition;
    }

    /** Return what the commit is. Its other parameters are options of a write. */
    private static DeltaOperations.Operation write(SaveMode mode, Option predicate)
            throws Exception {
        Constructor made = DeltaOperations.Write.class.getConstructors()[0];
        Object[] values = new Object[made.getParameterTypes().length];
        Arrays.fill(values, NONE);
        values[0] = mode;
        values[2] = predicate;
        return (DeltaOperations.Operation) made.newInstance(values);
    }

    /** The least or greatest value of a column in all rows that meet a condition. */
    static final class Bound {
        private final String column;
        private final DataType type;
        private final boolean isLeast;
        private final Object value;

        private Bound(String column, DataType type, boolean isLeast, Object value) {
            this.column = column;
            this.type = type;
            this.isLeast = isLeast;
            this.value = value;
        }

        /** Return those that a condition compares columns of a table with. */
        static List of(Expression condition, StructType table) {
            List found = new ArrayList();
            if (condition instanceof And) {
                found.addAll(of(((And) condition).left(), table));
                found.addAll(of(((And) condition).right(), table));
            } else if (condition instanceof GreaterThanOrEqual
                    || condition instanceof LessThanOrEqual) {
                BinaryComparison both = (BinaryComparison) condition;
                Expression value = (Expression) both.right();
                if (both.left() instanceof AttributeReference && value.foldable()) {
                    String name = ((AttributeReference) both.left()).name();
                    StructField[] fields = table.fields();
                    for (int i = 0; i < fields.length; i++) {
                        if (fields[i].name().equalsIgnoreCase(name)) {
                            found.add(new Bound(
                                DeltaColumnMapping$.MODULE$.getPhysicalName(fields[i]),
                                fields[i].dataType(),
                                condition instanceof GreaterThanOrEqual,
                                value.eval((InternalRow) null)));
                        }
                    }
                }
            }
            return found;
        }

        /** Return whether a file may have a row within it, also where nothing is known of it. */
        boolean allows(AddFile file, JsonNode statistics) {
            Option partition = file.partitionValues().get(column);
            JsonNode end = child(child(statistics, isLeast ? "maxValues" : "minValues"), column);
            Comparable known;
            Comparable own;
            try {
                known = partition.isDefined()
                    ? ofText((String) partition.get()) : end.isValueNode() ? of(end) : null;
                own = ofSpark();
            } catch (RuntimeException unreadable) {
                return true;
            }
            if (known == null || own == null) {
                return true;
            }
            return isLeast ? known.compareTo(own) >= 0 : known.compareTo(own) <= 0;
        }

        private Comparable of(JsonNode end) {
            return end.isNumber() ? end.decimalValue() : end.isTextual() ? ofText(end.asText()) : null;
        }

        /** Return the value of a text in the log, whose instants have no microseconds. */
        private Comparable ofText(String text) {
            if (isNumber()) {
                return new BigDecimal(text);
            }
            if (DataTypes.DateType.equals(type)) {
                return LocalDate.parse(text);
            }
            if (DataTypes.TimestampType.equals(type)) {
                Instant instant = OffsetDateTime.parse(text).toInstant();
                return isLeast ? instant.plusMillis(1L) : instant;
            }
            return DataTypes.StringType.equals(type) && !text.isEmpty()
                ? UTF8String.fromString(text) : null;
        }

        /** Return the value of the bound as that which `ofText` returns. */
        private Comparable ofSpark() {
            if (value instanceof Decimal) {
                return ((Decimal) value).toJavaBigDecimal();
            }
            if (DataTypes.DateType.equals(type)) {
                return LocalDate.ofEpochDay(((Number) value).longValue());
            }
            if (DataTypes.TimestampType.equals(type)) {
                return Instant.EPOCH.plus(((Number) value).longValue(), ChronoUnit.MICROS);
            }
            return isNumber() ? new BigDecimal(value.toString()) : (Comparable) value;
        }

        private boolean isNumber() {
            return type instanceof DecimalType
                || DataTypes.ByteType.equals(type)
                || DataTypes.ShortType.equals(type)
                || DataTypes.IntegerType.equals(type)
                || DataTypes.LongType.equals(type);
        }
    }
}
