import TillBilling

/// Records purchases that are paid and have no owner yet (invariant 6). A caller chooses the claims beside a purchase
/// and can submit it any number of times, so a further reason because of other claims costs no event, one row of
/// evidence, and then only a count.
extension PurchaseRecorder {
    /// The number of callers for which evidence records that a purchase stayed in quarantine for one reason. The count
    /// continues.
    private static let callerLimit: Int64 = 5

    /// - Returns: why these claims do not prove the owner; the recorded reason may differ.
    func quarantine(_ reason: QuarantineReason) throws -> QuarantineReason {
        let recorded = stored?.quarantine
        let answer = try keep(reason, recorded: recorded)
        if let rowID = try stored?.rowID
            ?? transactions.find(transaction.id, in: transaction.environment)?.rowID
        {
            try QuarantineReasonTable(connection).count(reason, of: rowID, by: origin.callerName, at: now)
        }
        return answer
    }

    /// Reports a purchase under a token that named no order, if it contradicts the order opened since under that token.
    func recordContradictionEvent() throws {
        guard let recorded = stored?.quarantine, recorded != .contradictsOrder else { return }
        _ = try keep(.contradictsOrder, recorded: recorded)
    }

    private func keep(_ reason: QuarantineReason, recorded: QuarantineReason?) throws -> QuarantineReason {
        guard let stored, let recorded else {
            let rowID = try record(.quarantined, quarantine: reason, orderRowID: nil)
            try note(rowID, "quarantined", ground: reason.rawValue, detail: explanation)
            try recordQuarantinedEvent(reason, rowID)
            return reason
        }
        let isOtherClaimedOrder = !isNew && recorded.dependsOnClaimedOrder && reason.dependsOnClaimedOrder
        if isNew || recorded != reason, !isOtherClaimedOrder {
            try record(.quarantined, quarantine: reason, orderRowID: nil)
        }
        let noted = try evidence.count(
            transaction: stored.rowID, decision: "quarantined", ground: reason.rawValue, limit: Self.callerLimit)
        let isNoted = try evidence.has(
            transaction: stored.rowID, decision: "quarantined", ground: reason.rawValue, caller: origin.callerName)
        if !isNoted, noted < Self.callerLimit {
            try note(stored.rowID, "quarantined", ground: reason.rawValue, detail: explanation)
        }
        // A reason from newly signed data or from the catalogue is new information; its event is sent once.
        if !isOtherClaimedOrder, noted == 0 { try recordQuarantinedEvent(reason, stored.rowID) }
        return reason
    }

    private func recordQuarantinedEvent(_ reason: QuarantineReason, _ rowID: Int64) throws {
        try events.record(
            type: "transaction.quarantined", user: nil, transaction: rowID, body: EventBody.quarantined(reason),
            at: now)
    }
}

extension QuarantineReason {
    /// Whether this reason depends on the claims beside a proof. The others follow from what Apple signed and from the
    /// catalogue.
    var dependsOnClaimedOrder: Bool {
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
