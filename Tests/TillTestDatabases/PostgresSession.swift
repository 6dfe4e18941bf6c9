import CTillPostgres

/// One connection to PostgreSQL without the driver: for tests of what the database itself does, and to make databases.
package final class PostgresSession {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let connection: OpaquePointer?

    package init(_ address: String) throws {
        connection = PQconnectdb(address)
        guard PQstatus(connection) == CONNECTION_OK else { throw failure() }
    }

    deinit { PQfinish(connection) }

    /// Runs statements separated by `;`.
    /// - Returns: the rows of the last one, each value as text.
    @discardableResult
    package func run(_ script: String) throws -> [[String?]] {
        let result = PQexec(connection, script)
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw failure() }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                PQgetisnull(result, row, column) == 1
                    ? nil : PQgetvalue(result, row, column).map { String(cString: $0) }
            }
        }
    }

    /// A statement as PostgreSQL prepared it: the numbers of its types in `pg_type`.
    package struct Prepared {
        package let parameters: [UInt32]
        package let columns: [(name: String, type: UInt32)]
    }

    /// Prepares a statement and forgets it.
    ///
    /// - Parameter types: the types of its parameters; 0 lets PostgreSQL infer one.
    package func prepare(_ text: String, types: [UInt32] = []) throws -> Prepared {
        try check(PQprepare(connection, "", text, Int32(types.count), types))
        let described = PQdescribePrepared(connection, "")
        defer { PQclear(described) }
        guard PQresultStatus(described) == PGRES_COMMAND_OK else { throw failure() }
        return Prepared(
            parameters: (0..<PQnparams(described)).map { PQparamtype(described, $0) },
            columns: (0..<PQnfields(described)).map { column in
                (PQfname(described, column).map { String(cString: $0) } ?? "", PQftype(described, column))
            })
    }

    private func check(_ result: OpaquePointer?) throws {
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COMMAND_OK else { throw failure() }
    }

    private func failure() -> Failure { Failure(description: String(cString: PQerrorMessage(connection))) }
}
