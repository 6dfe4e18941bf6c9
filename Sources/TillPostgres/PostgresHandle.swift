import CTillPostgres
import Glibc
import TillSQL

/// One statement to send.
struct Command {
    let text: StatementText
    let values: [SQLValue]
    /// Whether the result names the key of the row that an `INSERT` made.
    var returnsID = false
    /// How many rows an `INSERT` of one row makes instead; their values follow one another.
    var rows = 1

    var isWrite: Bool { text.changedTable != nil }
}

/// A statement that a session has prepared.
final class PreparedStatement {
    let name: String
    let (returnsID, rows): (Bool, Int)
    /// Types of the parameters; 0 until PostgreSQL has told the type of one that was null.
    fileprivate var types: [Oid]
    let columns = StatementColumns()

    fileprivate init(name: String, _ command: Command) {
        self.name = name
        (returnsID, rows) = (command.returnsID, command.rows)
        types = command.values.map(\.postgresType)
    }

    fileprivate func fits(_ command: Command) -> Bool {
        guard returnsID == command.returnsID, rows == command.rows else { return false }
        for (type, value) in zip(types, command.values) {
            let isNull = if case .null = value { true } else { false }
            if !isNull, type != value.postgresType { return false }
        }
        return true
    }

    fileprivate func learnTypes(_ described: OpaquePointer) {
        for index in types.indices where types[index] == 0 { types[index] = PQparamtype(described, Int32(index)) }
    }
}

/// One connection to PostgreSQL with its prepared statements, in libpq's pipeline mode. One thread at a time uses it.
final class PostgresHandle {
    private let connection: OpaquePointer
    private let settings: ConnectionSettings
    private let counter: FigureCounter?
    private var texts: [SQL: StatementText] = [:]
    private var preparedCount = 0
    /// Tables whose primary key is one integer column, with that column.
    private var keyColumns: [String: String] = [:]
    private var isClosed = false

    /// What the server warned about since it was last asked: a WARNING, no NOTICE.
    private let notices = Notices()

    /// How much longer than the server's own limit an answer is waited for.
    private static let patience = 5_000

    init(_ settings: ConnectionSettings, _ counter: FigureCounter? = nil) throws(DatabaseError) {
        self.settings = settings
        self.counter = counter
        connection = try Self.connect(settings, counter)
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context else { return }
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().receive(result)
            },
            // The handle owns both and closes the connection before the notices are deallocated.
            Unmanaged.passUnretained(notices).toOpaque())
        do throws(DatabaseError) {
            guard PQserverVersion(connection) >= 150_000 else {
                throw DatabaseError(
                    .other, "the database is PostgreSQL \(PQserverVersion(connection) / 10_000); Till needs 15 or newer"
                )
            }
            try script(settings.session)
            try readKeyColumns()
        } catch {
            close()
            throw error
        }
    }

    private static func connect(
        _ settings: ConnectionSettings, _ counter: FigureCounter?
    ) throws(DatabaseError) -> OpaquePointer {
        var problems: [String] = []
        let connection: OpaquePointer?
        if let hosts = settings.hosts {
            // The password file may have changed since the last connection, so it is read for each.
            _ = try settings.parameters()
            connection = hosts.first { host in
                (try? settings.parameters(host)).flatMap { connect($0, writes: !settings.isReadOnly, &problems) }
            }
        } else {
            connection = connect(try settings.parameters(), writes: !settings.isReadOnly, &problems)
        }
        guard let connection else {
            counter?.add { $0.failedConnects += 1 }
            throw DatabaseError(
                .unreachable, "connecting to \(settings.shownAddress): \(problems.joined(separator: "; "))")
        }
        counter?.add { $0.connects += 1 }
        return connection
    }

    private static func connect(
        _ parameters: [(name: String, value: String)], writes: Bool, _ problems: inout [String]
    ) -> OpaquePointer? {
        let texts = parameters.map { strdup($0.name) } + parameters.map { strdup($0.value) }
        defer { for text in texts { free(text) } }
        let pointers = texts.map { UnsafePointer($0) }
        let names = pointers[..<parameters.count] + [nil]
        let values = pointers[parameters.count...] + [nil]
        guard let connection = PQconnectdbParams(Array(names), Array(values), 1) else {
            problems.append("no memory for a connection")
            return nil
        }
        guard PQstatus(connection) == CONNECTION_OK else {
            problems.append(MessageText.firstLine(String(cString: PQerrorMessage(connection))))
            PQfinish(connection)
            return nil
        }
        guard !writes || HostOrder.acceptsWrites(connection) else {
            problems.append("\(PQhost(connection).map { String(cString: $0) } ?? "it") is a standby or read-only")
            PQfinish(connection)
            return nil
        }
        return connection
    }

    deinit { close() }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        PQfinish(connection)
    }

    /// The process id that the server told when the session began: a pooler tells its own.
    var sessionID: Int32 { PQbackendPID(connection) }

    var serverVersion: Int { Int(PQserverVersion(connection)) }

    func takeWarning() -> String? { notices.take() }

    func text(of sql: SQL) -> StatementText {
        if let known = texts[sql] { return known }
        let text = StatementText(sql.description)
        texts[sql] = text
        return text
    }

    func command(_ sql: SQL, _ values: [SQLValue] = [], returnsID: Bool = false) -> Command {
        Command(text: text(of: sql), values: values, returnsID: returnsID)
    }

    // MARK: Statements

    /// Sends commands in one message and waits for all results: one round trip. After a command fails, the rest are not
    /// run.
    func exchange(_ commands: [Command]) throws(PostgresError) -> [ResultSet] {
        guard let step = settings.step else { return try send(commands) }
        var results: [ResultSet] = []
        for command in commands {
            step(sessionID, command.text.source)
            results += try send([command])
        }
        return results
    }

    private func send(_ commands: [Command]) throws(PostgresError) -> [ResultSet] {
        counter?.add { $0.exchanges += 1 }
        var sent: [(command: Command, statement: PreparedStatement, isNew: Bool)] = []
        for command in commands {
            let (statement, isNew) = try prepare(command)
            try send(command, statement)
            sent.append((command, statement, isNew))
        }
        guard PQpipelineSync(connection) == 1 else { throw lost() }
        try flush()
        var failure: PostgresError?
        var results: [ResultSet] = []
        for (command, statement, isNew) in sent {
            if isNew {
                let parsed = try receive(command)
                let described = try receive(command)
                PQclear(parsed.pointer)
                if parsed.isFine, described.isFine {
                    statement.learnTypes(described.pointer)
                } else {
                    forget(command, statement)
                }
                PQclear(described.pointer)
                failure = failure ?? parsed.error ?? described.error
            }
            let answer = try receive(command)
            failure = failure ?? answer.error
            if answer.isFine {
                results.append(ResultSet(answer.pointer, statement.columns))
            } else {
                PQclear(answer.pointer)
            }
        }
        try receiveSync()
        if let failure {
            if failure.isStalePlan { forgetStatements() }
            throw failure
        }
        return results
    }

    private func prepare(_ command: Command) throws(PostgresError) -> (PreparedStatement, isNew: Bool) {
        let text = command.text
        if let known = text.prepared.first(where: { $0.fits(command) }) { return (known, false) }
        var body = command.rows == 1 ? text.text : text.rowInsert?.text(rows: command.rows) ?? text.text
        if command.returnsID, let table = text.changedTable, let column = keyColumns[table] {
            body += " RETURNING \(column) AS row_key"
        }
        preparedCount += 1
        let statement = PreparedStatement(name: "till_\(preparedCount)", command)
        guard
            PQsendPrepare(connection, statement.name, body, Int32(statement.types.count), statement.types) == 1,
            PQsendDescribePrepared(connection, statement.name) == 1
        else { throw lost() }
        text.prepared.append(statement)
        return (statement, true)
    }

    private func send(_ command: Command, _ statement: PreparedStatement) throws(PostgresError) {
        let parameters = ParameterBytes(command.values)
        guard parameters.send({ PQsendQueryPrepared(connection, statement.name, $0, $1, $2, $3, 1) == 1 }) else {
            throw lost()
        }
    }

    private func forget(_ command: Command, _ statement: PreparedStatement) {
        command.text.prepared.removeAll { $0 === statement }
    }

    /// The next statements are prepared again, under new names.
    private func forgetStatements() {
        for text in texts.values { text.prepared = [] }
        keyColumns = [:]
    }

    // MARK: Waiting

    private func flush() throws(PostgresError) {
        while true {
            let code = PQflush(connection)
            if code == 0 { return }
            guard code == 1 else { throw lost() }
            // The server stops reading when its own answers wait, so those are read meanwhile.
            let ready = try wait(for: Int16(POLLIN | POLLOUT))
            if ready & Int16(POLLIN) != 0, PQconsumeInput(connection) == 0 { throw lost() }
        }
    }

    private func wait(for events: Int16) throws(PostgresError) -> Int16 {
        var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        let limit = Int32(clamping: settings.statementMilliseconds + Self.patience)
        while true {
            let count = poll(&descriptor, 1, limit)
            if count > 0 { return descriptor.revents }
            if count < 0, errno == EINTR { continue }
            throw .lost("the database has not answered for \(limit) ms")
        }
    }

    private struct Answer {
        let pointer: OpaquePointer
        let error: PostgresError?
        /// Not run, because a command before it failed.
        let isAborted: Bool

        var isFine: Bool { error == nil && !isAborted }
    }

    private func receive(_ command: Command) throws(PostgresError) -> Answer {
        let result = try nextResult()
        guard let result else { throw lost() }
        // Each command's results end with a null.
        if let extra = try nextResult() { PQclear(extra) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return Answer(pointer: result, error: nil, isAborted: false)
        case PGRES_PIPELINE_ABORTED: return Answer(pointer: result, error: nil, isAborted: true)
        default:
            let isLost = PQstatus(connection) != CONNECTION_OK
            let error = PostgresError(result, running: command.text.text, isLost: isLost)
            guard !isLost else {
                PQclear(result)
                throw error
            }
            return Answer(pointer: result, error: error, isAborted: false)
        }
    }

    private func nextResult() throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            _ = try wait(for: Int16(POLLIN))
            if PQconsumeInput(connection) == 0 { throw lost() }
        }
        return PQgetResult(connection)
    }

    private func receiveSync() throws(PostgresError) {
        guard let result = try nextResult() else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { throw lost() }
    }

    private func lost() -> PostgresError {
        .lost(MessageText.firstLine(String(cString: PQerrorMessage(connection))))
    }

    // MARK: Scripts, and what the catalogue says

    /// Runs statements separated by `;`, outside of the pipeline.
    func script(_ text: String) throws(DatabaseError) {
        if PQpipelineStatus(connection) != PQ_PIPELINE_OFF {
            guard PQexitPipelineMode(connection) == 1 else { throw lost().error }
        }
        PQsetnonblocking(connection, 0)
        let result = PQexec(connection, text)
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        let isLost = PQstatus(connection) != CONNECTION_OK
        if isLost || (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            throw PostgresError(result, running: text, isLost: isLost).error
        }
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { throw lost().error }
    }

    /// Runs one query outside of a body.
    func query<Value>(
        _ sql: SQL, _ values: [SQLValue] = [], _ read: (any Row) throws -> Value
    ) throws(DatabaseError) -> [Value] {
        do {
            let results = try exchange([command(sql, values)])
            return try results[0].rows(of: sql, read)
        } catch let error as PostgresError {
            throw error.error
        } catch let error as DatabaseError {
            throw error
        } catch {
            throw DatabaseError(.other, "\(error)")
        }
    }

    private func readKeyColumns() throws(DatabaseError) {
        let keys = try query(
            """
            SELECT c.relname AS table_name, a.attname AS column_name FROM pg_index i \
            JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid \
            AND a.attnum = i.indkey[0] WHERE i.indisprimary AND i.indnatts = 1 AND a.atttypid = 20 \
            AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace
            """
        ) { ($0.text("table_name"), $0.text("column_name")) }
        keyColumns = Dictionary(keys, uniquingKeysWith: { first, _ in first })
    }

    /// The column whose values the database draws from a sequence.
    func keyColumn(of table: String) -> String { keyColumns[table] ?? "row_id" }

    /// The tables may be newer than this session.
    func loadKeyColumns(of table: String) throws(DatabaseError) {
        if keyColumns[table] == nil { try readKeyColumns() }
    }
}

/// The warnings of one connection. libpq calls `receive` while the handle's thread reads.
private final class Notices {
    private var warning: String?

    func receive(_ result: OpaquePointer?) {
        let severity = PQresultErrorField(result, till_postgres_diag_severity).map { String(cString: $0) }
        guard severity == "WARNING" else { return }
        warning = MessageText.firstLine(PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
    }

    func take() -> String? {
        defer { warning = nil }
        return warning
    }
}
