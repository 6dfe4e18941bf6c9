import TillBilling

/// Records what Apple revokes, and what it reinstates.
extension PurchaseRecorder {
    func revoke(_ grant: Grant) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is revoked") }
        let postings = try recordPoints(of: grant, stored.rowID)
        let rowID = try record(.revoked, quarantine: nil, orderRowID: stored.orderRowID)
        try moveOwnOrder(stored.orderRowID, to: .refunded, reason: "revoked_by_apple")
        try note(rowID, "revoked", ground: "revocation_date")
        try recordEvent("grant.revoked", grant, rowID, moved: postings)
        return grant
    }

    func reinstate(_ grant: Grant) throws -> Grant {
        guard let stored else { preconditionFailure("only a recorded grant is reinstated") }
        let postings = try recordPoints(of: grant, stored.rowID)
        let rowID = try record(.granted, quarantine: nil, orderRowID: stored.orderRowID)
        try moveOwnOrder(stored.orderRowID, to: .completed, reason: "refund_reversed")
        try note(rowID, "reinstated", ground: "refund_reversed")
        try recordEvent("grant.reinstated", grant, rowID, moved: postings)
        return grant
    }

    /// Takes back the points for time that another purchase in the chain replaced, or returns the excess.
    func recordReplacedTime(in chain: SubscriptionChain) throws {
        guard let storedGrant = context.grant, let stored else { return }
        let share = RevokedShare(transaction, in: chain)
        let postings = try recordPoints(of: storedGrant, stored.rowID, to: share)
        guard !postings.isEmpty else { return }
        try note(stored.rowID, "revoked", ground: "replaced_by_purchase")
        try recordEvent("grant.revoked", storedGrant, stored.rowID, moved: postings)
    }

    /// The share of the transaction that Apple has revoked.
    private func revokedShare() throws -> RevokedShare {
        guard transaction.isSubscription,
            let found = try SubscriptionTable(connection).find(transaction.originalID, in: transaction.environment)
        else { return RevokedShare(transaction) }
        let others = try SubscriptionTable(connection).links(of: found.rowID).map(\.period)
            .filter { $0.transactionID != transaction.id }
        return RevokedShare(transaction, in: SubscriptionChain(others + [transaction.period]))
    }

    /// Posts the difference between the points already taken back and the share that Apple has revoked by this copy.
    ///
    /// - Returns: the postings made.
    private func recordPoints(
        of grant: Grant, _ rowID: Int64, to share: RevokedShare? = nil
    ) throws -> [Posting] {
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsRefundedPoints.isPlanted { return [] }
        #endif
        guard !grant.points.isEmpty else { return [] }
        let postings = ReclaimedPoints(try ledger.postings(grantOf: rowID).map(\.posting)).postings(
            bringing: grant, to: try share ?? revokedShare(),
            in: try ledger.wallet(of: grant.userID, in: grant.environment),
            under: try debtPolicy(for: grant, rowID), at: now)
        precondition(
            postings.allSatisfy { $0.reference == grant.id.description && $0.environment == transaction.environment },
            "a refund posts the reverse of its own grant (invariants 4 and 7)")
        for posting in postings { try ledger.post(posting, grant: rowID) }
        let forgiven = postings.filter { $0.kind == .writeOff }
        if !forgiven.isEmpty { try recordEvent("wallet.forgiven", grant, rowID, moved: forgiven) }
        return postings
    }

    /// The shop's policy, unless the customer's debts were forgiven too often in the last 365 days.
    private func debtPolicy(for grant: Grant, _ rowID: Int64) throws -> DebtPolicy {
        guard terms.settings.debt == .forgive else { return terms.settings.debt }
        // Two customers of one Apple Account share no other key.
        if let payer = transaction.appTransactionID { connection.lock([.payer(payer, grant.environment)]) }
        let forgiven = try ledger.forgivenGrants(
            of: grant.userID, paidBy: transaction.appTransactionID, in: grant.environment,
            after: now.adding(seconds: -365 * 86_400), except: rowID)
        return forgiven < terms.settings.forgivenPerYear ? .forgive : .owe
    }

    /// Apple revised the refunded share. A receipt states no share.
    private func revise(_ grant: Grant, _ rowID: Int64) throws {
        guard !transaction.isFromReceipt, case let postings = try recordPoints(of: grant, rowID), !postings.isEmpty
        else { return }
        try note(rowID, "revoked", ground: "revocation_percentage")
        try recordEvent("grant.revoked", grant, rowID, moved: postings)
    }

    /// Apple revoked the purchase before anything was granted, or sent the revocation again.
    func recordRevocation() throws -> PurchaseOutcome {
        if let stored, stored.state == .revoked {
            if isNew {
                if let storedGrant = context.grant { try revise(storedGrant, stored.rowID) }
                try record(.revoked, quarantine: nil, orderRowID: stored.orderRowID)
            }
            return try context.grant.map { .revoked($0) } ?? .revokedUnseen(order(paidBy: stored.orderRowID))
        }
        var orderRowID = stored?.orderRowID
        if let (order, isItsOwn) = decision.refundedOrder {
            orderRowID =
                isItsOwn
                ? try move(order, to: .refunded, reason: "revoked_by_apple").rowID
                : context.orders[order.id]?.rowID ?? orderRowID
        } else if let order = try openRefundedOrder() {
            orderRowID = order
        }
        let rowID = try record(.revoked, quarantine: nil, orderRowID: orderRowID)
        try note(rowID, "revoked", ground: "before_any_grant")
        return .revokedUnseen(try order(paidBy: orderRowID))
    }

    /// The order that the transaction pays; nil if it is only linked to another order of the same customer.
    private func order(paidBy rowID: Int64?) throws -> Order? {
        let order = try rowID.flatMap { try orders.find(rowID: $0)?.order }
        return order?.isPaid(by: transaction.id, in: transaction.environment) == true ? order : nil
    }

    /// Links a purchase that was revoked before its owner was known to its customer's history, as if it had arrived
    /// later.
    func adopt() throws {
        guard let stored, stored.orderRowID == nil else { return }
        let found: Int64?
        if let (order, isItsOwn) = decision.refundedOrder {
            found =
                isItsOwn
                ? try move(order, to: .refunded, reason: "revoked_by_apple").rowID : context.orders[order.id]?.rowID
        } else if let order = try openRefundedOrder() {
            found = order
        } else {
            return
        }
        try transactions.update(
            stored.rowID, state: .revoked, quarantine: nil, orderRowID: found, signedAt: stored.signedAt,
            revokedAt: stored.revokedAt)
    }

    /// A period under an account token has no order yet. It gets one, so that its renewals have a purchase with an
    /// owner.
    private func openRefundedOrder() throws -> Int64? {
        guard transaction.isSubscription, let product = shared.facts.product, let user = decision.refundedAccount else {
            return nil
        }
        let opened = try target(
            nil, nil, for: user, product: product, reason: OwnerMatch.accountToken.rawValue)
        try moveOwnOrder(opened.rowID, to: .refunded, reason: "revoked_by_apple")
        return opened.rowID
    }

    /// Moves the order that this transaction pays for, if the order holds this transaction.
    func moveOwnOrder(_ rowID: Int64?, to status: OrderStatus, reason: String) throws {
        guard let rowID, let stored = try orders.find(rowID: rowID),
            stored.order.isPaid(by: transaction.id, in: transaction.environment),
            let way = stored.order.status.way(to: status)
        else { return }
        _ = try orders.move(stored, along: way, at: now, reason: reason)
    }
}
