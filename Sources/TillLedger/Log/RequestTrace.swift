import TillThreads

/// The request that a piece of work belongs to. Every line written meanwhile carries its id.
public final class RequestTrace: Sendable {
    /// The id that the answer's `X-Request-Id` and a problem's `requestId` repeat.
    public let requestID: String
    /// The trace id of the caller's `traceparent`; nil without a valid one.
    public let traceID: String?

    /// What is learnt on the way, for the request's own line.
    package struct Notes: Sendable {
        /// The key's id, the user or the operator: `key:backend`, `user:42`. Nil before authentication.
        package var caller: String?
        /// The code of the refusal; nil for an answer without one.
        package var code: String?
    }

    private let state = Locked(Notes())

    public init(requestID: String, traceID: String? = nil) {
        self.requestID = requestID
        self.traceID = traceID
    }

    package var notes: Notes { state.withLock { $0 } }
    package func note(caller: String) { state.withLock { $0.caller = caller } }
    package func note(code: String) { state.withLock { $0.code = code } }

    @TaskLocal public static var current: RequestTrace?
}
