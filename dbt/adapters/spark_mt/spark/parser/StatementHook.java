package dbt.adapters.spark_mt;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkException;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Builder of parsers that hand statements about materialized tables to Python.
 *
 * Janino compiles it in the driver. So it has no generics and no lambdas, and no `try` has two
 * `catch` clauses: Janino writes classes of those that the JVM refuses when the method first runs.
 * What one class uses of another one is not private, because a Java of today needs attributes for
 * that which Janino does not write.
 */
public final class StatementHook extends scala.runtime.AbstractFunction2 {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long INTERRUPT_AGAIN_MS = 500L;
    static final int INTERRUPTS = 120;
    static final int AT_MOST = 16;

    /** What carries out statements, as many at the same time as it has threads; others wait. */
    static final ThreadPoolExecutor WORKERS = started(AT_MOST, "materialized-table-statement");

    /** What asks Python short questions. */
    static final ThreadPoolExecutor ASKER = started(1, "materialized-table-question");

    private final Pattern mention;
    private final String keywords;
    private final boolean isOfConnect;
    BiFunction engine;

    /**
     * @param mention What a text has to contain to be one of our statements.
     * @param keywords The first keywords of our statements, each between blanks.
     * @param isOfConnect Whether clients of Spark Connect use the sessions.
     */
    public StatementHook(String mention, String keywords, boolean isOfConnect) {
        this.mention = Pattern.compile(mention, Pattern.CASE_INSENSITIVE);
        this.keywords = keywords;
        this.isOfConnect = isOfConnect;
    }

    /** Return the parser of a session, which asks the given one for all other statements. */
    public Object apply(Object session, Object parser) {
        Object below = parser;
        if (Proxy.isProxyClass(below.getClass())) {
            Object handler = Proxy.getInvocationHandler(below);
            if (handler.getClass().getName().equals(Parser.class.getName())) {
                below = ((Supplier) handler).get(); // of a hook that was installed before this one
            }
        }
        Class[] interfaces = new Class[] {ParserInterface.class};
        ClassLoader loader = ParserInterface.class.getClassLoader();
        return Proxy.newProxyInstance(loader, interfaces, new Parser(this, session, below));
    }

    /**
     * Give the parser to every session that is made from now on.
     *
     * @param asked In Python: (`is_ours`, text), (`carry_out`, Statement) or (`interrupt`, id).
     */
    public void inject(SparkSession session, BiFunction asked) {
        engine = asked;
        session.extensions().injectParser(this);
    }

    /** Give the parser to a session that has one already. */
    public void enter(SparkSession session) throws Exception {
        Field parser = SessionState.class.getDeclaredField("sqlParser");
        parser.setAccessible(true);
        parser.set(session.sessionState(), apply(session, parser.get(session.sessionState())));
    }

    boolean isOurs(String text) {
        int start = 0;
        while (start < text.length() && isBlank(text.charAt(start))) {
            start++;
        }
        int end = start;
        while (end < text.length() && Character.isLetter(text.charAt(end))) {
            end++;
        }
        boolean isComment = text.startsWith("--", start) || text.startsWith("/*", start);
        String first = text.substring(start, end).toUpperCase(Locale.ROOT);
        if (!isComment && (first.isEmpty() || keywords.indexOf(" " + first + " ") < 0)) {
            return false;
        }
        return mention.matcher(text).find() && "true".equals(ask("is_ours", text));
    }

    /** Return whether Spark's lexer skips a character: a no-break space too, which Java does not. */
    private static boolean isBlank(char each) {
        return Character.isWhitespace(each) || Character.isSpaceChar(each);
    }

    Object ask(String question, Object argument) {
        FutureTask asked = new FutureTask(new Question(engine, question, argument));
        ASKER.execute(asked);
        Object answer = null;
        try {
            answer = asked.get();
        } catch (Exception error) {
            Platform.throwException(causeOf(error));
        }
        return answer;
    }

    static Throwable causeOf(Exception error) {
        return error instanceof ExecutionException ? error.getCause() : error;
    }

    /**
     * Start threads that never end: py4j opens a connection to Python for each thread that calls it,
     * and closes none. They start before the first client comes, so they inherit nothing of one.
     */
    private static ThreadPoolExecutor started(int threads, String name) {
        ThreadPoolExecutor made = new ThreadPoolExecutor(
            threads, threads, 0L, TimeUnit.SECONDS, new LinkedBlockingQueue(), new Threads(name)
        );
        made.prestartAllCoreThreads();
        return made;
    }

    Throwable failed(Map error) {
        Map parameters = (Map) error.get("parameters");
        String message = (String) error.get("message");
        String condition = (String) error.get("condition");
        String state = (String) error.get("sql_state");
        return isOfConnect
            ? (Throwable) new Failed(message, condition, state, parameters)
            : (Throwable) new Refused(message, condition, state, parameters);
    }

    static Object value(Object json, DataType type) {
        if (json == null || json instanceof Boolean) {
            return json;
        }
        if (type instanceof StringType) {
            return UTF8String.fromString((String) json);
        }
        if (type instanceof LongType || type instanceof TimestampType) {
            return Long.valueOf(((Number) json).longValue());
        }
        if (type instanceof IntegerType) {
            return Integer.valueOf(((Number) json).intValue());
        }
        if (type instanceof DoubleType) {
            return Double.valueOf(((Number) json).doubleValue());
        }
        if (type instanceof ArrayType) {
            return array((List) json, ((ArrayType) type).elementType());
        }
        if (type instanceof MapType) { // a list of keys, and one of values
            GenericArrayData keys = array((List) ((List) json).get(0), ((MapType) type).keyType());
            List values = (List) ((List) json).get(1);
            return new ArrayBasedMapData(keys, array(values, ((MapType) type).valueType()));
        }
        throw new IllegalArgumentException(type.sql());
    }

    static GenericArrayData array(List json, DataType type) {
        Object[] values = new Object[json.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = value(json.get(i), type);
        }
        return new GenericArrayData(values);
    }

    /** Parser of a session: Spark's own, but for our statements. */
    public static final class Parser implements InvocationHandler, Supplier {
        private final StatementHook hook;
        private final Object session;
        private final Object below;

        Parser(StatementHook hook, Object session, Object below) {
            this.hook = hook;
            this.session = session;
            this.below = below;
        }

        public Object get() {
            return below;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().startsWith("parsePlan") && arguments[0] instanceof String) {
                String text = (String) arguments[0];
                if (hook.isOurs(text)) {
                    Statement called = new Statement(hook, session, text, isFilled(arguments));
                    Identifier name = Identifier.of(new String[0], called.name());
                    scala.collection.immutable.Seq none =
                        (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$;
                    return new Call(new ResolvedProcedure(null, name, called), none, true);
                }
            }
            try {
                return method.invoke(below, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }

        /** Return whether the caller gave values of parameters to be filled in. */
        private static boolean isFilled(Object[] arguments) {
            if (arguments.length < 2 || !(arguments[1] instanceof scala.Product)) {
                return false;
            }
            Object values = ((scala.Product) arguments[1]).productElement(0);
            return !((scala.collection.Iterable) values).isEmpty();
        }
    }

    /** Procedure that Spark's analyzer calls once: it carries out one of our statements. */
    public static final class Statement implements BoundProcedure {
        private final String id = UUID.randomUUID().toString();
        private final StatementHook hook;
        private final Object session;
        private final String text;
        private final boolean hasParameters;
        private boolean isLookedAt;

        Statement(StatementHook hook, Object session, String text, boolean hasParameters) {
            this.hook = hook;
            this.session = session;
            this.text = text;
            this.hasParameters = hasParameters;
        }

        public String id() {
            return id;
        }

        public Object session() {
            return session;
        }

        public String text() {
            return text;
        }

        /** Return whether the client gave values for parameters in the text. */
        public boolean hasParameters() {
            return hasParameters;
        }

        /** Return whether the client asks for columns or plan, which must not execute anything. */
        public boolean isLookedAt() {
            return isLookedAt;
        }

        public String name() {
            return "materialized_table_statement";
        }

        public String description() {
            return "A statement about materialized tables";
        }

        public ProcedureParameter[] parameters() {
            return new ProcedureParameter[0];
        }

        public boolean isDeterministic() {
            return false;
        }

        public Iterator call(InternalRow input) {
            StackTraceElement[] callers = Thread.currentThread().getStackTrace();
            for (int i = 0; i < callers.length; i++) {
                isLookedAt |= callers[i].getClassName().contains("SparkConnectAnalyzeHandler");
            }
            FutureTask work = new FutureTask(new Work(hook.engine, this));
            WORKERS.execute(work);
            String answer = null;
            try {
                answer = (String) work.get();
            } catch (Exception error) {
                if (error instanceof InterruptedException && !WORKERS.remove(work)) {
                    interrupt(work);
                }
                Platform.throwException(causeOf(error));
            }
            return Collections.singletonList(rows(answer)).iterator();
        }

        private Rows rows(String json) {
            Map answer = null;
            try {
                answer = (Map) JSON.readValue(json, Map.class);
            } catch (Exception error) {
                Platform.throwException(error);
            }
            if (answer.containsKey("error")) {
                Platform.throwException(hook.failed((Map) answer.get("error")));
            }
            return new Rows((String) answer.get("schema"), (List) answer.get("rows"));
        }

        /** Interrupt the statement until it has ended, so that its last state is in the log. */
        private void interrupt(FutureTask work) {
            boolean isInterruptedAgain = false;
            for (int i = 0; i < INTERRUPTS && !work.isDone() && !isInterruptedAgain; i++) {
                hook.ask("interrupt", id);
                try {
                    work.get(INTERRUPT_AGAIN_MS, TimeUnit.MILLISECONDS);
                } catch (Exception error) {
                    isInterruptedAgain = error instanceof InterruptedException;
                }
            }
        }
    }

    /** A question to Python. */
    static final class Question implements Callable {
        private final BiFunction engine;
        private final String question;
        private final Object argument;

        Question(BiFunction engine, String question, Object argument) {
            this.engine = engine;
            this.question = question;
            this.argument = argument;
        }

        public Object call() {
            return engine.apply(question, argument);
        }
    }

    /** A statement that Python carries out, with what Spark keeps by thread as its client has it. */
    static final class Work implements Callable {
        private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
        private final BiFunction engine;
        private final Statement statement;
        private final SparkSession session;
        private final Properties properties; // tags of the operation, by which it is interrupted

        Work(BiFunction engine, Statement statement) {
            this.engine = engine;
            this.statement = statement;
            session = (SparkSession) statement.session();
            properties = (Properties) session.sparkContext().getLocalProperties().clone();
        }

        public Object call() {
            Thread thread = Thread.currentThread();
            ClassLoader own = thread.getContextClassLoader();
            thread.setContextClassLoader(loader);
            session.sparkContext().setLocalProperties(properties);
            org.apache.spark.sql.SparkSession.setActiveSession(session);
            try {
                return engine.apply("carry_out", statement);
            } finally {
                org.apache.spark.sql.SparkSession.clearActiveSession();
                session.sparkContext().setLocalProperties(new Properties());
                thread.setContextClassLoader(own);
            }
        }
    }

    /** Maker of threads that do not keep the driver from ending. */
    static final class Threads implements ThreadFactory {
        private final String name;

        Threads(String name) {
            this.name = name;
        }

        public Thread newThread(Runnable work) {
            Thread made = new Thread(work, name);
            made.setDaemon(true);
            return made;
        }
    }

    /** Rows of a statement. */
    public static final class Rows implements LocalScan {
        private final StructType schema;
        private final InternalRow[] rows;

        Rows(String ddl, List listed) {
            schema = StructType.fromDDL(ddl);
            rows = new InternalRow[listed.size()];
            for (int i = 0; i < rows.length; i++) {
                Object[] values = new Object[schema.length()];
                for (int j = 0; j < values.length; j++) {
                    values[j] = value(((List) listed.get(i)).get(j), schema.fields()[j].dataType());
                }
                rows[i] = new GenericInternalRow(values);
            }
        }

        public StructType readSchema() {
            return schema;
        }

        public InternalRow[] rows() {
            return rows;
        }
    }

    /** Error for clients of Spark Connect: those in Java look up texts of other exceptions. */
    public static final class Failed extends SparkException {
        private final String state;

        Failed(String message, String condition, String state, Map parameters) {
            super(
                message,
                null,
                scala.Option.apply(condition),
                SparkException.constructMessageParams(parameters),
                new QueryContext[0]
            );
            this.state = state;
        }

        public String getSqlState() {
            return state;
        }

        /** Leave out the stack, which clients show their users. */
        public Throwable fillInStackTrace() {
            return this;
        }

        public void setStackTrace(StackTraceElement[] stack) {}
    }

    /** Error for sessions of the driver's own process: PySpark knows this class. */
    public static final class Refused extends AnalysisException {
        private final String state;

        Refused(String message, String condition, String state, Map parameters) {
            super(
                message,
                scala.Option.empty(),
                scala.Option.empty(),
                scala.Option.empty(),
                scala.Option.apply(condition),
                SparkException.constructMessageParams(parameters),
                new QueryContext[0]
            );
            this.state = state;
        }

        public String getSqlState() {
            return state;
        }

        public Throwable fillInStackTrace() {
            return this;
        }

        public void setStackTrace(StackTraceElement[] stack) {}
    }
}
