import TillBilling
import TillLedger

/// Asks Apple again about the order numbers that have no answer yet.
public struct WaitingClaims: Sendable {
    private let server: Server
    private static let batch = 8
    /// Consecutive requests without an answer, after which the job stops until its next pass.
    private static let maximumFailures = 3

    public init(_ server: Server) { self.server = server }

    /// Asks about every claim that is due, taking the users in turns, until none is left or Apple can't answer. Returns
    /// how many claims got their answer.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let claims = OrderNumberClaim(server, askedBy: nil) else { return 0 }
        var done = 0
        var failures = 0
        while failures < Self.maximumFailures {
            let now = server.clock()
            let due = try await server.database.read { try ClaimTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return done }
            for claim in due where failures < Self.maximumFailures {
                let isAnswered = try await claims.answer(claim).state != .waiting
                done += isAnswered ? 1 : 0
                failures = isAnswered ? 0 : failures + 1
            }
        }
        return done
    }
}
