import TillBilling
import TillLedger

/// Asks Apple again about the order numbers that wait for its word (U1, U7).
public struct WaitingClaims: Sendable {
    private let server: Server
    private static let batch = 8
    /// Questions in vain in a row, after which Apple is left alone until the next walk.
    private static let mostVain = 3

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, the users in turns, until none is left or Apple can't say. Returns how many no
    /// longer wait.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let claims = OrderNumberClaim(server, askedBy: nil) else { return 0 }
        var done = 0
        var vain = 0
        while vain < Self.mostVain {
            let now = server.clock()
            let due = try await server.database.read { try ClaimTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return done }
            for claim in due where vain < Self.mostVain {
                let isAnswered = try await claims.answer(claim).state != .waiting
                done += isAnswered ? 1 : 0
                vain = isAnswered ? 0 : vain + 1
            }
        }
        return done
    }
}
