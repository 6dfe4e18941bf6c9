import CTillPostgres
import TillSQL

/// How a connection is made: the address, and the limits of its session.
struct ConnectionSettings: Sendable {
    let address: String
    let statementMilliseconds: Int
    let lockMilliseconds: Int
    let connectMilliseconds: Int
    let passwordFile: String?
    let isReadOnly: Bool
    /// Whether only reads use the connection: a long one may pause between its queries.
    var isForReading: Bool
    let step: (@Sendable (Int32, String) -> Void)?
    /// Nil if there is nothing to choose.
    let hosts: HostOrder?

    init(_ address: String, _ options: PostgresDatabase.Options, isReadOnly: Bool) {
        self.address = address
        statementMilliseconds = options.statementMilliseconds
        lockMilliseconds = options.lockMilliseconds
        connectMilliseconds = options.connectMilliseconds
        passwordFile = options.passwordFile
        self.isReadOnly = isReadOnly
        isForReading = isReadOnly
        step = options.step
        hosts = HostOrder(address)
    }

    /// How PostgreSQL names the connections, unless the address says otherwise. Servers of releases without marks of
    /// commits are called `till`.
    static let serverName = "till serve"

    /// A network that swallows packets is noticed before the statement's own limit is over.
    private static let keepAliveSeconds = "5"
    /// After so long PostgreSQL ends a transaction whose server is silent. One that was frozen in the middle of a job's
    /// write keeps the others from taking the jobs over until then.
    private var idleMilliseconds: Int { isForReading ? max(60_000, 2 * statementMilliseconds) : 10_000 }

    /// libpq's parameters in the order of their precedence: what the address says replaces the first group, and the
    /// last group replaces what the address says.
    ///
    /// - Parameter host: the one of the address's hosts that is tried.
    func parameters(_ host: HostOrder.Host? = nil) throws(DatabaseError) -> [(name: String, value: String)] {
        var parameters = [
            ("connect_timeout", "\(max(2, connectMilliseconds / 1_000))"),
            ("keepalives_idle", Self.keepAliveSeconds), ("keepalives_interval", Self.keepAliveSeconds),
            ("keepalives_count", "2"), ("tcp_user_timeout", "\(statementMilliseconds)"),
            ("target_session_attrs", isReadOnly ? "any" : "read-write"),
            ("fallback_application_name", Self.serverName), ("dbname", address),
        ]
        if let passwordFile { parameters.append(("password", try PasswordFile.read(passwordFile))) }
        parameters.append(("client_encoding", "UTF8"))
        guard let host else { return parameters }
        parameters += host.parameters
        // `PostgresHandle` asks the host itself whether it accepts writes, and goes on to the next one otherwise.
        if !isReadOnly { parameters.append(("target_session_attrs", "any")) }
        return parameters
    }

    /// Statements for a new session. They are no start-up parameters, because PgBouncer refuses those.
    var session: String {
        // A commit that may be lost with the machine breaks the promise of an answered grant. A plan is kept while its
        // tables grow: one that reads a whole table, made when the table was empty, would cost more for each new row.
        """
        SET statement_timeout = \(statementMilliseconds);
        SET lock_timeout = \(lockMilliseconds);
        SET idle_in_transaction_session_timeout = \(idleMilliseconds);
        SET jit = off;
        SELECT set_config('synchronous_commit', 'on', false)
            WHERE current_setting('synchronous_commit') IN ('off', 'local');
        SET enable_seqscan = off;
        \(isReadOnly ? Self.reading : "")
        """
    }

    /// A program that only reads walks tables in slices of their keys. Without knowing the slice's size, PostgreSQL
    /// would hash the whole other table for it, or make a plan for each slice.
    private static let reading = """
        SET default_transaction_read_only = on;
        SET enable_hashjoin = off;
        SET enable_bitmapscan = off;
        SET plan_cache_mode = force_generic_plan;
        """

    /// The address without its password, for messages.
    var shownAddress: String { PostgresAddress.withoutPassword(address) }
}

/// The address of a database, as an operator writes it.
public enum PostgresAddress {
    /// Replaces the password in a connection URI by three dots.
    public static func withoutPassword(_ address: String) -> String {
        let text = Array(address.utf8)
        guard let scheme = firstIndex(of: "://", in: text) else { return "a database of PostgreSQL" }
        let start = scheme + 3
        let end = text[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? text.count
        var shown = text
        if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")),
            let colon = text[start..<at].firstIndex(of: UInt8(ascii: ":"))
        {
            shown.replaceSubrange((colon + 1)..<at, with: Array("...".utf8))
        }
        return withoutParameter("password", withoutParameter("sslpassword", String(decoding: shown, as: UTF8.self)))
    }

    private static func withoutParameter(_ name: String, _ address: String) -> String {
        guard let query = address.firstIndex(of: "?") else { return address }
        let parts = address[address.index(after: query)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = parts.map { $0.lowercased().hasPrefix("\(name)=") ? "\(name)=..." : String($0) }
        return address[...query] + shown.joined(separator: "&")
    }

    private static func firstIndex(of part: String, in text: [UInt8]) -> Int? {
        let wanted = Array(part.utf8)
        guard text.count >= wanted.count else { return nil }
        return (0...(text.count - wanted.count)).first { Array(text[$0..<($0 + wanted.count)]) == wanted }
    }

    /// Checks an address without connecting.
    ///
    /// - Returns: what is wrong with it, in libpq's words; nil if it can be used.
    public static func problem(with address: String) -> String? {
        guard address.hasPrefix("postgres://") || address.hasPrefix("postgresql://") else {
            return "an address of PostgreSQL begins with postgres://"
        }
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(address, &message)
        defer { PQconninfoFree(options) }
        guard options != nil else {
            defer { PQfreemem(message) }
            return message.map { MessageText.firstLine(String(cString: $0)) } ?? "it can't be read"
        }
        return nil
    }
}

/// Texts of libpq and of the database's server, which end with a line feed and may have several lines.
enum MessageText {
    static func firstLine(_ text: String) -> String {
        String(text.split(separator: "\n").first.map { line in line.drop { $0 == " " } } ?? "")
    }
}
