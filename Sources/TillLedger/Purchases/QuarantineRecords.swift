import TillBilling

/// What is paid and has no owner yet (invariant 6). A caller chooses the words beside it and can bring it any
/// number of times, so another reason in other words costs no event, a row of evidence once, and else a count.
extension PurchaseRecorder {
    /// Of how many callers the evidence says that a purchase stayed in quarantine for one reason. The count goes on.
    private static let callerLimit: Int64 = 5

    /// - Returns: why these words don't say whose it is, which may not be the reason that is recorded.
    func quarantine(_ reason: QuarantineReason) throws -> QuarantineReason {
        let recorded = stored?.quarantine
        let answer = try keep(reason, recorded: recorded)
        if let sequence = try stored?.sequence
            ?? transactions.find(transaction.id, in: transaction.environment)?.sequence
        {
            try QuarantineReasonTable(connection).count(reason, of: sequence, by: origin.callerName, at: now)
        }
        return answer
    }

    /// What waits under a token that named no order, and contradicts the order that was opened since.
    func tellContradiction() throws {
        guard let recorded = stored?.quarantine, recorded != .contradictsOrder else { return }
        _ = try keep(.contradictsOrder, recorded: recorded)
    }

    private func keep(_ reason: QuarantineReason, recorded: QuarantineReason?) throws -> QuarantineReason {
        guard let stored, let recorded else {
            let sequence = try record(.quarantined, quarantine: reason, orderSequence: nil)
            try note(sequence, "quarantined", ground: reason.rawValue, detail: explanation)
            try tellQuarantined(reason, sequence)
            return reason
        }
        let isOtherWords = !isNews && recorded.restsOnWords && reason.restsOnWords
        if isNews || recorded != reason, !isOtherWords {
            try record(.quarantined, quarantine: reason, orderSequence: nil)
        }
        let noted = try evidence.count(
            transaction: stored.sequence, decision: "quarantined", ground: reason.rawValue, limit: Self.callerLimit)
        let isNoted = try evidence.has(
            transaction: stored.sequence, decision: "quarantined", ground: reason.rawValue, caller: origin.callerName)
        if !isNoted, noted < Self.callerLimit {
            try note(stored.sequence, "quarantined", ground: reason.rawValue, detail: explanation)
        }
        // What Apple signed anew, or the catalogue, says more of it than before; that is told once.
        if !isOtherWords, noted == 0 { try tellQuarantined(reason, stored.sequence) }
        return reason
    }

    private func tellQuarantined(_ reason: QuarantineReason, _ sequence: Int64) throws {
        try events.record(
            type: "transaction.quarantined", user: nil, transaction: sequence, body: EventBody.quarantined(reason),
            at: now)
    }
}

extension QuarantineReason {
    /// Whether the words beside a proof decide that this is the reason. The others follow from what Apple signed and
    /// from the catalogue.
    var restsOnWords: Bool {
        switch self {
        case .noOwner, .receiptNeedsOrder, .receiptNeedsSignedCopy, .claimedOrderUnknown, .claimedOrderOfAnother,
            .claimedOrderDiffers, .claimedOrderOpenedLater, .claimedOrderTaken:
            true
        case .unknownToken, .unreadableToken, .contradictsOrder, .unknownProduct, .unusableQuantity,
            .unknownOwnership:
            false
        }
    }
}
