package dbt.adapters.spark_mt;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;

/** Processor time of a thread of the driver for the same statements in two sessions, in turn. */
public final class StatementTimes {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final SparkSession first;
    private final SparkSession second;

    public StatementTimes(SparkSession first, SparkSession second) {
        this.first = first;
        this.second = second;
    }

    /** Parse texts, one a line, and return the nanoseconds of both sessions. */
    public String parse(String lines) throws Exception {
        ParserInterface one = first.sessionState().sqlParser();
        ParserInterface other = second.sessionState().sqlParser();
        String[] texts = lines.split("\n");
        long[] spent = new long[2];
        for (int i = 0; i < texts.length; i++) {
            for (int j = 0; j < 2; j++) {
                int which = (i + j) % 2;
                ParserInterface parser = which == 0 ? one : other;
                long start = THREADS.getCurrentThreadCpuTime();
                parser.parsePlan(texts[i]);
                spent[which] += THREADS.getCurrentThreadCpuTime() - start;
            }
        }
        return spent[0] + " " + spent[1];
    }

    /** Run a statement so many times, and return the nanoseconds of both sessions. */
    public String run(String text, int times) throws Exception {
        long[] spent = new long[2];
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < 2; j++) {
                int which = (i + j) % 2;
                SparkSession session = which == 0 ? first : second;
                long start = THREADS.getCurrentThreadCpuTime();
                session.sql(text).collect();
                spent[which] += THREADS.getCurrentThreadCpuTime() - start;
            }
        }
        return spent[0] + " " + spent[1];
    }
}
