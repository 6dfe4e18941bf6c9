import CTillPostgres
import TillSQL

/// A statement, a connection or a commit that failed, with PostgreSQL's own code
/// (https://www.postgresql.org/docs/15/errcodes-appendix.html).
struct PostgresError: Error {
    /// Five characters; empty if the failure was found by this program.
    let code: String
    let error: DatabaseError
    /// Whether the connection is gone, and with it its transaction, unless a COMMIT was under way.
    let isLost: Bool

    init(code: String, _ error: DatabaseError, isLost: Bool) {
        self.code = code
        self.error = error
        self.isLost = isLost
    }

    /// The failure that a result describes.
    init(_ result: OpaquePointer?, running sql: String, isLost: Bool) {
        let code = Self.field(result, till_postgres_diag_sqlstate)
        let message = MessageText.firstLine(PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
        let detail = Self.field(result, till_postgres_diag_detail)
        var text = "\(message.isEmpty ? "the connection was lost" : message)"
        if !detail.isEmpty { text += " (\(MessageText.firstLine(detail)))" }
        let kind = Self.kind(of: code, isLost: isLost)
        if let advice = Self.advice(for: code, kind) { text += "; \(advice)" }
        self.init(code: code, DatabaseError(kind, "\(text), running \(sql.prefix(120))"), isLost: isLost)
    }

    static func lost(_ reason: String) -> PostgresError {
        PostgresError(code: "", DatabaseError(.unreachable, reason), isLost: true)
    }

    private static func field(_ result: OpaquePointer?, _ field: Int32) -> String {
        PQresultErrorField(result, field).map { String(cString: $0) } ?? ""
    }

    private static func kind(of code: String, isLost: Bool) -> DatabaseError.Kind {
        switch code {
        case "53100": return .full
        case "53200", "53300", "53400", "40001", "40P01", "55P03", "57014": return .busy
        case "25006": return .readOnly
        case "58030", "58P01": return .inputOutput
        case "XX001", "XX002": return .corrupt
        case "57P01", "57P02", "57P03", "57P04", "57P05": return .unreachable
        default: break
        }
        if isLost || code.hasPrefix("08") { return .unreachable }
        return code.hasPrefix("23") ? .constraint : .other
    }

    private static func advice(for code: String, _ kind: DatabaseError.Kind) -> String? {
        switch code {
        case "53100": "free space on the disk of the database; the server then continues by itself"
        case "53300": "raise max_connections of the database, or lower the servers' `connections`"
        case "42501": "run `till migrate` as the owner of the tables, which grants the server's role its rights"
        case "XX001", "XX002": "run `till doctor`, and restore a backup if it confirms the damage"
        default: nil
        }
    }

    /// The statements were fine, but another transaction came in between: the same bodies may succeed in a new
    /// transaction. A uniqueness rule is among them, because the other transaction's row is visible only now.
    var mayGoAway: Bool { ["40001", "40P01", "55P03", "23505", "23P01", "23503"].contains(code) }

    /// The session's prepared statements no longer fit: a migration changed a table, or they were discarded.
    var isStalePlan: Bool { code == "0A000" || code == "26000" || code == "42P05" }

    /// The connection works, but no longer leads to a server that accepts writes.
    var needsOtherServer: Bool { isLost || error.kind == .unreachable || code == "25006" }
}
