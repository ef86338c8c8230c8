import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** A JDBC client that knows nothing of materialized tables; prints the first column of each row. */
public final class PlainSql {
    /** Before a statement: send it with `executeUpdate`, as tools do that expect no rows. */
    private static final String UPDATE = "update: ";

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0]);
                Statement statement = connection.createStatement()) {
            statement.setMaxRows(200); // as tools do that show rows in pages
            for (int i = 1; i < arguments.length; i++) {
                try {
                    if (arguments[i].startsWith(UPDATE)) {
                        statement.executeUpdate(arguments[i].substring(UPDATE.length()));
                    } else if (statement.execute(arguments[i])) {
                        ResultSet rows = statement.getResultSet();
                        while (rows.next()) {
                            System.out.println(rows.getObject(1));
                        }
                    }
                } catch (Exception error) {
                    System.out.println(error.getMessage());
                }
            }
        }
    }
}
