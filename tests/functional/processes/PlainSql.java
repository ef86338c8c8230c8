import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** A JDBC client that knows nothing of materialized tables; prints the first column of each row. */
public final class PlainSql {
    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0]);
                Statement statement = connection.createStatement()) {
            for (int i = 1; i < arguments.length; i++) {
                try {
                    if (statement.execute(arguments[i])) {
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
