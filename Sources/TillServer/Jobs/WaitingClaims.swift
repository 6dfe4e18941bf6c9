import TillBilling
import TillStorage

/// Asks Apple again about the order numbers that wait for its word (U1, U7).
public struct WaitingClaims: Sendable {
    private let server: Server
    private static let batch = 20

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, the longest overdue first, until none is left. Returns how many no longer wait.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let claims = OrderNumberClaim(server, askedBy: nil) else { return 0 }
        var done = 0
        while true {
            let now = server.clock()
            let due = try await server.database.read { try ClaimTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return done }
            for claim in due where try await claims.answer(claim).state != .waiting { done += 1 }
        }
    }
}
