import TillAppStore
import TillBilling
import TillSQL

extension StoreSchema {
    static let refundRequests: StaticString = """
        CREATE TABLE refund_requests (
            number INTEGER PRIMARY KEY,
            reason TEXT NOT NULL,
            decision TEXT NOT NULL,
            asked_at INTEGER NOT NULL,
            outcome TEXT,
            preference TEXT,
            consumed INTEGER,
            answer TEXT
        ) STRICT;
        """
}

/// A customer's refund request, which the App Store decides after twelve hours (facts/business-rules §10).
public struct RefundRequest: Sendable, Hashable {
    /// The App Store's decision, chosen by a test.
    public enum Decision: String, Sendable, Hashable, CaseIterable {
        /// The developer's preference; without one, the customer gets the refund.
        case developer
        case refund
        case decline
    }

    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        case refunded
        case declined
    }

    /// How long the developer may answer, in seconds (facts/limits §4).
    public static let window: Int64 = 12 * 3_600

    /// The transaction: it has one request at a time.
    public var number: Int64
    public var reason: ConsumptionRequestReason
    public var decision: Decision
    public var asked: Instant
    /// Nil while the request is open.
    public var outcome: Outcome?
    /// The developer's preference; nil without an answer.
    var preference: ConsumptionResponse.Preference?
    /// The consumed part in thousandths of a percent, according to the developer.
    var consumed: Int64?
    /// The developer's answer as received.
    public var answer: String?

    public var decided: Instant { asked.adding(seconds: Self.window) }
}

/// The newest refund request of each transaction.
enum RefundRequestTable {
    static let columns: Columns = "number, reason, decision, asked_at, outcome, preference, consumed, answer"

    static func save(_ request: RefundRequest, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO refund_requests (\(columns)) VALUES (\(marks: 8))
            ON CONFLICT (number) DO UPDATE SET
                reason = excluded.reason, decision = excluded.decision, asked_at = excluded.asked_at,
                outcome = excluded.outcome, preference = excluded.preference, consumed = excluded.consumed,
                answer = excluded.answer
            """,
            [
                .integer(request.number), .text(request.reason.rawValue), .text(request.decision.rawValue),
                .integer(request.asked.milliseconds), .optional(request.outcome?.rawValue),
                .optional(request.preference?.rawValue), .optional(request.consumed), .optional(request.answer),
            ])
    }

    static func find(_ number: Int64, _ connection: any Connection) throws -> RefundRequest? {
        try connection.first(
            """
            SELECT \(columns) FROM refund_requests WHERE number = ?
            """, [.integer(number)]
        ) { row in
            RefundRequest(
                number: row.integer("number"), reason: ConsumptionRequestReason(rawValue: row.text("reason")),
                decision: RefundRequest.Decision(rawValue: row.text("decision")) ?? .developer,
                asked: Instant(milliseconds: row.integer("asked_at")),
                outcome: row.optionalText("outcome").flatMap { RefundRequest.Outcome(rawValue: $0) },
                preference: row.optionalText("preference").flatMap { ConsumptionResponse.Preference(rawValue: $0) },
                consumed: row.optionalInteger("consumed"), answer: row.optionalText("answer"))
        }
    }
}

/// The developer's consumption information for a refund request (facts/server-api §5), validated and in one form for
/// both versions of the endpoint.
struct ConsumptionResponse: Sendable, Hashable {
    enum Preference: String, Sendable, Hashable {
        case none
        case decline
        case grantFull
        case grantProrated
    }

    var preference: Preference
    /// The consumed part in thousandths of a percent; nil if the developer gave none.
    var consumed: Int64?
    var wasDelivered: Bool
    /// The body as received.
    var text: String
}

/// The result of an answer to CONSUMPTION_REQUEST.
enum ConsumptionOutcome: Sendable, Hashable {
    case accepted
    /// There is no refund request for this transaction.
    case notRequested
    /// Twelve hours have passed, and the App Store has decided.
    case tooLate
}
