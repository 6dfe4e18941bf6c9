import TillAppStore
import TillBilling
import TillStorage

/// Asks Apple for the signed copies of what receipts alone granted before there was a key to ask with. The copy is
/// settled like every other one: it confirms the owner, or moves the grant to whom it names.
public struct ReceiptConfirmations: Sendable {
    private let server: Server
    private static let batch = 20
    /// How often Apple may say that it has no such transaction before it is asked no more.
    private static let mostAttempts: Int64 = 8

    public init(_ server: Server) { self.server = server }

    /// Takes up those that are due, production first and the longest overdue first, until none is left or Apple can't
    /// say. Returns how many were answered.
    @discardableResult
    public func askAll() async throws -> Int {
        guard let api = server.serverAPI else { return 0 }
        let lookup = SignedTransactionLookup(
            api, verifier: server.verifier, asking: .bulk("receiptConfirmations"))
        let production = try await askAll(in: .production, lookup)
        return production + (try await askAll(in: .sandbox, lookup))
    }

    private func askAll(in environment: Environment, _ lookup: SignedTransactionLookup) async throws -> Int {
        var answered = 0
        while true {
            let now = server.clock()
            let due = try await server.database.read { session in
                try OwnershipTable(session).dueLookups(in: environment, at: now, limit: Self.batch)
            }
            guard !due.isEmpty else { return answered }
            for one in due {
                guard try await settle(one, lookup) else { return answered }
                answered += 1
            }
        }
    }

    /// - Returns: false if Apple can't be asked now.
    private func settle(_ one: OwnershipTable.Lookup, _ lookup: SignedTransactionLookup) async throws -> Bool {
        let now = server.clock()
        switch await lookup.ask(one.id, one.environment, for: .init(name: "till")) {
        case .found(let signed, let proof):
            _ = try await server.settle(
                signed, proof: proof,
                origin: Settle.Origin(door: .reconciliation, caller: .apple, claimedOrder: nil))
            // A contest is not asked about again: the same token would come.
            try await postpone(one, until: nil)
            return true
        case .none:
            let isOver = one.attempts + 1 >= Self.mostAttempts
            try await postpone(one, until: isOver ? nil : now.adding(seconds: 86_400 << one.attempts))
            return true
        case .later(_, let instant):
            let pause = now.adding(seconds: SettleReceipt.pause(after: one.attempts))
            try await postpone(one, until: max(pause, instant ?? pause))
            return false
        }
    }

    private func postpone(_ one: OwnershipTable.Lookup, until instant: Instant?) async throws {
        try await server.database.write { session in
            try OwnershipTable(session).postponeLookup(one.sequence, until: instant)
        }
    }
}
