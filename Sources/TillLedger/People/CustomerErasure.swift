import TillBilling
import TillSQL

/// A request to erase a customer, with what the caller has confirmed.
package struct ErasureRequest: Sendable {
    let user: UserID
    /// The points that the person loses, by kind, as the caller was told.
    let forfeit: [String: Int64]
    /// Whether a subscription that still renews or runs is no obstacle.
    let endsAccess: Bool
    /// As in evidence: `key:backend`, `operator:ann`.
    let actor: String

    package init(user: UserID, forfeit: [String: Int64], endsAccess: Bool, actor: String) {
        self.user = user
        self.forfeit = forfeit
        self.endsAccess = endsAccess
        self.actor = actor
    }
}

/// An erasure as its caller is told of it.
package struct CompletedErasure: Sendable {
    package let erasure: ErasureTable.Stored
    /// Guests of the account, who were erased with it.
    package let guests: Int
    /// False if the customer was erased before.
    package let isNew: Bool
}

/// What a customer would lose by an erasure.
package struct ErasureLoss: Sendable, Hashable {
    /// Points that can be spent, by kind.
    package let points: [String: Int64]
    /// The products of subscriptions that give service now or may renew.
    package let subscriptions: [ProductID]

    package init(
        of user: UserID, in environment: StoreEnvironment, at now: Instant, catalogs: CatalogHistory,
        _ connection: any Connection
    ) throws {
        points = try LedgerTable(connection).wallet(of: user, in: environment).balances.filter { $0.value > 0 }
        subscriptions = try Rights.load(
            of: user, in: environment, at: now, catalogs: catalogs, connection: connection
        ).subscriptions.filter { $0.state.state.mayRunOn }.map(\.state.current.productID)
    }

    /// - Throws: `erasure_unconfirmed` with what the caller has to confirm.
    func check(_ request: ErasureRequest) throws {
        if points != request.forfeit {
            let amounts = points.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            throw points.isEmpty
                ? RefusalError(
                    .erasureUnconfirmed, "forfeit: the wallet holds no points; leave it out",
                    zh: "forfeit：钱包中没有点数，请去掉这一项")
                : RefusalError(
                    .erasureUnconfirmed,
                    "forfeit: the wallet holds \(amounts), which the person loses; name exactly that",
                    zh: "forfeit：钱包中还有 \(amounts)，抹除后即作废；请写明相同的数额")
        }
        guard subscriptions.isEmpty || request.endsAccess else {
            let names = subscriptions.prefix(5).map(\.text).joined(separator: ", ")
            throw RefusalError(
                .erasureUnconfirmed,
                "endsAccess: \(names) still runs, and Apple goes on charging until the person cancels it in the App "
                    + "Store; send true if the person knows",
                zh: "endsAccess：\(names) 仍在继续，在本人于 App Store 取消之前 Apple 会继续扣款；若本人已知晓，请写 true")
        }
    }
}

extension Subscription.State {
    /// Whether Apple gives service for it, or may charge again.
    fileprivate var mayRunOn: Bool {
        switch self {
        case .active, .cancelled, .grace, .billingRetry, .upgraded: true
        case .expired, .revoked: false
        }
    }
}

extension Ledger {
    /// Erases a customer: what names the person is removed or replaced, and the books stay. The answer comes after the
    /// list beside the backups has the erasure. A repetition gives the same answer.
    package func erase(_ request: ErasureRequest) async throws -> CompletedErasure {
        guard let terms = settings.erasure else { throw RefusalError(.noErasureKey) }
        let (erasures, now) = (Erasures(database, key: terms.key, sealKey: settings.sealKey), clock())
        let (environment, catalogs) = (settings.usualEnvironment, catalogs)
        let begun = try await erasures.begin(request.user, .init(caller: request.actor, at: now)) { connection in
            try ErasureLoss(of: request.user, in: environment, at: now, catalogs: catalogs, connection).check(request)
        }
        let known = begun.isEmpty ? try await erased(request.user, terms.key) : begun
        guard let first = known.first else { throw RefusalError(.unknownUser) }
        try terms.keep(known.map(\.line))
        try await erasures.finish(at: now)
        if !begun.isEmpty {
            erasedCustomers.withLock { $0 += begun.count }
            log.write(
                .customerErased,
                [
                    "customer": .text(first.pseudonym.text), "guests": .integer(Int64(begun.count - 1)),
                    "caller": .text(request.actor),
                ])
        }
        return CompletedErasure(erasure: first, guests: known.count - 1, isNew: !begun.isEmpty)
    }

    /// An earlier erasure of the same user id.
    private func erased(_ user: UserID, _ key: ErasureKey) async throws -> [ErasureTable.Stored] {
        let hash = key.hash(of: user)
        return try await database.read { try ErasureTable($0).newest(hash).map { [$0] } ?? [] }
    }

    /// Finishes what a crash interrupted, and completes the list beside the backups.
    package func finishErasures() async throws {
        guard let terms = settings.erasure else { return }
        try await Erasures.lines(of: database) { try terms.keep($0) }
        try await Erasures(database, key: terms.key, sealKey: settings.sealKey).finish(at: clock())
    }
}
