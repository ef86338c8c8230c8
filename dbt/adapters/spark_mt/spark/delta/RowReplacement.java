package dbt.adapters.spark_mt;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.util.Arrays;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.sketch.BloomFilter;
import scala.None$;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.IterableOnce;
import scala.collection.mutable.ListBuffer;

/**
 * Replacement of rows of a Delta table, which one scan of some columns finds, in one transaction.
 *
 * Delta's DELETE finds the rows, and marks them in deletion vectors. Its condition are two Bloom
 * filters over hashes, so neither its text nor its time grow with the rows. A filter takes some
 * other row for one of them about once in 10^14 rows. So nothing is written unless exactly as many
 * rows were found as were expected.
 *
 * Janino compiles this in the driver: no generics, no lambdas, no two `catch` clauses of a `try`.
 */
public final class RowReplacement extends scala.runtime.AbstractFunction1 {
    static final double WRONGLY_FOUND = 1e-7;
    /** Spark derives all bits of a value from two numbers below the size of the filter. */
    static final long LEAST_SIZE = 10000L;
    static final Option NONE = (Option) (Object) None$.MODULE$;

    private final SparkSession session;
    private final String fence;
    private final long number;
    private final Dataset added;
    private final long expected;
    private String predicate;
    private DeleteCommand all;
    private Dataset allHashes;
    private DeleteCommand few;
    private Dataset fewHashes;
    private long leastBytes = Long.MAX_VALUE;
    private DeltaOperations.Operation operation;
    private String outcome = "";

    /**
     * @param session The session; its confs have the metadata of the commit.
     * @param fence The application whose number the commit takes.
     * @param number That number.
     * @param added The rows to add, in the columns of the table.
     * @param expected How many rows are to be removed.
     */
    public RowReplacement(
            SparkSession session, String fence, long number, Dataset added, long expected) {
        this.session = session;
        this.fence = fence;
        this.number = number;
        this.added = added;
        this.expected = expected;
    }

    /**
     * Find the rows by some columns.
     *
     * @param statement A DELETE of the rows whose hashes are 0.
     * @param hashes The two hashes of each row to remove, in two columns.
     * @param predicate What the commit says of its condition.
     */
    public void findBy(String statement, Dataset hashes, String predicate) throws Exception {
        this.all = analysed(statement);
        this.allHashes = hashes;
        this.predicate = predicate;
    }

    /** Find them in a table of so many bytes and more by fewer columns first. */
    public void findFirstBy(String statement, Dataset hashes, long leastBytes) throws Exception {
        this.few = analysed(statement);
        this.fewHashes = hashes;
        this.leastBytes = leastBytes;
    }

    /** Write; return nothing where that is done, be it by another writer, or else why it is not. */
    public String run() throws Exception {
        Option before = SparkSession$.MODULE$.getActiveSession();
        SparkSession$.MODULE$.setActiveSession(session); // of it Delta reads what a commit carries
        try {
            operation = replacement(predicate);
            all.deltaLog().withNewTransaction(all.catalogTable(), NONE, this);
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
        if (txn.txnVersion(fence) >= number) {
            return null; // as Delta skips such a write: the session has no new version then
        }
        if (!hasColumnsOf(txn.metadata().schema())) {
            outcome = "the rows to add have other columns";
            return null;
        }
        IterableOnce removed = null;
        if (txn.snapshot().sizeInBytes() >= leastBytes) {
            removed = found(few, fewHashes, txn);
        }
        if (removed == null) {
            removed = found(all, allHashes, txn);
        }
        if (removed != null) {
            Long now = Long.valueOf(System.currentTimeMillis());
            ListBuffer actions = new ListBuffer();
            actions.append(new SetTransaction(fence, number, new Some(now)));
            actions.appendAll(removed);
            actions.appendAll((IterableOnce) txn.writeFiles(added));
            txn.commit(actions.toList(), operation);
            outcome = "";
        }
        return null;
    }

    /** Return what removes the rows; nothing where others were found, or not all of them. */
    private IterableOnce found(DeleteCommand read, Dataset hashes, OptimisticTransaction txn) {
        Row[] rows = (Row[]) hashes.collect();
        Expression[] filters = new Expression[] {filter(rows, 0), filter(rows, 1)};
        Expression condition = withFilters((Expression) read.condition().get(), filters);
        DeleteCommand delete = new DeleteCommand(
            read.deltaLog(), read.catalogTable(), read.target(), new Some(condition));
        Tuple2 removed = delete.performDelete(session, delete.deltaLog(), txn);
        AccumulatorV2 counted = (AccumulatorV2) delete.metrics().apply("numDeletedRows");
        long count = ((Long) counted.value()).longValue();
        outcome = count + " rows were found, and not " + expected;
        return count == expected ? (IterableOnce) removed._1() : null;
    }

    private DeleteCommand analysed(String statement) throws Exception {
        LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(statement);
        return (DeleteCommand) session.sessionState().analyzer().execute(parsed);
    }

    /** Return whether the rows to add have the very columns of the table: Delta casts none here. */
    private boolean hasColumnsOf(StructType table) {
        StructField[] rows = added.schema().fields();
        StructField[] columns = table.fields();
        boolean same = rows.length == columns.length;
        for (int i = 0; same && i < rows.length; i++) {
            String type = columns[i].dataType().catalogString();
            same = rows[i].name().equalsIgnoreCase(columns[i].name())
                && rows[i].dataType().catalogString().equals(type);
        }
        return same;
    }

    private static Literal filter(Row[] rows, int place) {
        long size = Math.max(LEAST_SIZE, (long) rows.length);
        BloomFilter filter = BloomFilter.create(size, WRONGLY_FOUND);
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

    /** Put a filter in the place of each comparison of a hash: the second has a number first. */
    private static Expression withFilters(Expression condition, Expression[] filters) {
        if (condition instanceof And) {
            And both = (And) condition;
            return new And(withFilters(both.left(), filters), withFilters(both.right(), filters));
        }
        if (condition instanceof EqualTo && ((EqualTo) condition).left() instanceof XxHash64) {
            XxHash64 hash = (XxHash64) ((EqualTo) condition).left();
            boolean isSecond = hash.children().head() instanceof Literal;
            return new BloomFilterMightContain(filters[isSecond ? 1 : 0], hash);
        }
        return condition;
    }

    /** Return what the commit is: an overwrite of some rows. Its other parameters are options. */
    private static DeltaOperations.Operation replacement(String predicate) throws Exception {
        Constructor made = DeltaOperations.Write.class.getConstructors()[0];
        Object[] values = new Object[made.getParameterTypes().length];
        Arrays.fill(values, NONE);
        values[0] = SaveMode.Overwrite;
        values[2] = new Some(predicate);
        return (DeltaOperations.Operation) made.newInstance(values);
    }
}
