import TillBilling

/// Records what Apple revokes, and what it reinstates.
extension PurchaseRecorder {
    func revoke(_ grant: Grant) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is revoked") }
        let postings = try recordPoints(of: grant, stored.sequence)
        let sequence = try record(.revoked, quarantine: nil, orderSequence: stored.orderSequence)
        try moveOwnOrder(stored.orderSequence, to: .refunded, reason: "revoked_by_apple")
        try note(sequence, "revoked", ground: "revocation_date")
        try tell("grant.revoked", grant, sequence, moved: postings)
        return grant
    }

    func reinstate(_ grant: Grant) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is reinstated") }
        let postings = try recordPoints(of: grant, stored.sequence)
        let sequence = try record(.granted, quarantine: nil, orderSequence: stored.orderSequence)
        try moveOwnOrder(stored.orderSequence, to: .completed, reason: "refund_reversed")
        try note(sequence, "reinstated", ground: "refund_reversed")
        try tell("grant.reinstated", grant, sequence, moved: postings)
        return grant
    }

    /// Takes back the points for time that another purchase in the chain replaced, or returns the excess.
    func recordReplacedTime(in chain: SubscriptionChain) throws {
        guard let storedGrant = known.grant, let stored else { return }
        let share = RevokedShare(transaction, in: chain)
        let postings = try recordPoints(of: storedGrant, stored.sequence, to: share)
        guard !postings.isEmpty else { return }
        try note(stored.sequence, "revoked", ground: "replaced_by_purchase")
        try tell("grant.revoked", storedGrant, stored.sequence, moved: postings)
    }

    /// The share of the transaction that Apple has revoked.
    private func revokedShare() throws -> RevokedShare {
        guard transaction.isSubscription,
            let found = try SubscriptionTable(connection).find(transaction.originalID, in: transaction.environment)
        else { return RevokedShare(transaction) }
        let others = try SubscriptionTable(connection).links(of: found.sequence).map(\.period)
            .filter { $0.transactionID != transaction.id }
        return RevokedShare(transaction, in: SubscriptionChain(others + [transaction.period]))
    }

    /// Posts the difference between the points already taken back and the share that Apple has revoked by this copy.
    ///
    /// - Returns: the postings made.
    private func recordPoints(
        of grant: Grant, _ sequence: Int64, to share: RevokedShare? = nil
    ) throws -> [Posting] {
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsRefundedPoints.isPlanted { return [] }
        #endif
        guard !grant.points.isEmpty else { return [] }
        let postings = TakenBack(try ledger.postings(grantOf: sequence).map(\.posting)).postings(
            bringing: grant, to: try share ?? revokedShare(),
            in: try ledger.wallet(of: grant.userID, in: grant.environment),
            under: try debtPolicy(for: grant, sequence), at: now)
        precondition(
            postings.allSatisfy { $0.reference == grant.id.description && $0.environment == transaction.environment },
            "a refund posts the reverse of its own grant (invariants 4 and 7)")
        for posting in postings { try ledger.post(posting, grant: sequence) }
        let forgiven = postings.filter { $0.kind == .writeOff }
        if !forgiven.isEmpty { try tell("wallet.forgiven", grant, sequence, moved: forgiven) }
        return postings
    }

    /// The shop's policy, unless the customer's debts were forgiven too often in the last 365 days.
    private func debtPolicy(for grant: Grant, _ sequence: Int64) throws -> DebtPolicy {
        guard terms.settings.debt == .forgive else { return terms.settings.debt }
        let forgiven = try ledger.forgivenGrants(
            of: grant.userID, paidBy: transaction.appTransactionID, in: grant.environment,
            after: now.adding(seconds: -365 * 86_400), except: sequence)
        return forgiven < terms.settings.forgivenPerYear ? .forgive : .owe
    }

    /// Apple revised the refunded share. A receipt states no share.
    private func revise(_ grant: Grant, _ sequence: Int64) throws {
        guard !transaction.isFromReceipt, case let postings = try recordPoints(of: grant, sequence), !postings.isEmpty
        else { return }
        try note(sequence, "revoked", ground: "revocation_percentage")
        try tell("grant.revoked", grant, sequence, moved: postings)
    }

    /// Apple revoked the purchase before anything was granted, or sent the revocation again.
    func recordRevocation() throws -> PurchaseOutcome {
        if let stored, stored.state == .revoked {
            if isNews {
                if let storedGrant = known.grant { try revise(storedGrant, stored.sequence) }
                try record(.revoked, quarantine: nil, orderSequence: stored.orderSequence)
            }
            return try known.grant.map { .revoked($0) } ?? .revokedUnseen(order(paidBy: stored.orderSequence))
        }
        var orderSequence = stored?.orderSequence
        if let (order, isItsOwn) = decision.refundedOrder {
            orderSequence =
                isItsOwn
                ? try move(order, to: .refunded, reason: "revoked_by_apple").sequence
                : known.orders[order.id]?.sequence ?? orderSequence
        } else if let order = try openRefundedOrder() {
            orderSequence = order
        }
        let sequence = try record(.revoked, quarantine: nil, orderSequence: orderSequence)
        try note(sequence, "revoked", ground: "before_any_grant")
        return .revokedUnseen(try order(paidBy: orderSequence))
    }

    /// The order that the transaction pays; nil if it is only linked to another order of the same customer.
    private func order(paidBy sequence: Int64?) throws -> Order? {
        let order = try sequence.flatMap { try orders.find(sequence: $0)?.order }
        return order?.isPaid(by: transaction.id, in: transaction.environment) == true ? order : nil
    }

    /// Links a purchase that was revoked before its owner was known to its customer's history, as if it had arrived
    /// later.
    func adopt() throws {
        guard let stored, stored.orderSequence == nil else { return }
        let found: Int64?
        if let (order, isItsOwn) = decision.refundedOrder {
            found =
                isItsOwn
                ? try move(order, to: .refunded, reason: "revoked_by_apple").sequence : known.orders[order.id]?.sequence
        } else if let order = try openRefundedOrder() {
            found = order
        } else {
            return
        }
        try transactions.update(
            stored.sequence, state: .revoked, quarantine: nil, orderSequence: found, signedAt: stored.signedAt,
            revokedAt: stored.revokedAt)
    }

    /// A period under an account token has no order yet. It gets one, so that its renewals have a purchase with an
    /// owner.
    private func openRefundedOrder() throws -> Int64? {
        guard transaction.isSubscription, let product = facts.product, let user = decision.refundedAccount else {
            return nil
        }
        let opened = try target(
            nil, nil, for: user, product: product, reason: OwnerMatch.accountToken.rawValue)
        try moveOwnOrder(opened.sequence, to: .refunded, reason: "revoked_by_apple")
        return opened.sequence
    }

    /// Moves the order that this transaction pays for, if the order holds this transaction.
    func moveOwnOrder(_ sequence: Int64?, to status: OrderStatus, reason: String) throws {
        guard let sequence, let stored = try orders.find(sequence: sequence),
            stored.order.isPaid(by: transaction.id, in: transaction.environment),
            let way = stored.order.status.way(to: status)
        else { return }
        _ = try orders.move(stored, along: way, at: now, reason: reason)
    }
}
