import TillBilling

extension PurchaseRecorder {
    /// Keeps the log line about what this commit changes. A repetition that changes nothing has none.
    func noteInLog(_ outcome: PurchaseOutcome) {
        switch outcome {
        case .granted(let grant):
            if case .reinstate = decision.outcome {
                inputs.note(.refundReversed, line(about: grant))
            } else {
                inputs.note(.purchaseGranted, line(about: grant))
            }
        case .moved(let grant): inputs.note(.purchaseMoved, line(about: grant))
        case .revoked(let grant) where stored?.state != .revoked: inputs.note(.purchaseRefunded, line(about: grant))
        case .revokedUnseen where stored?.state != .revoked: inputs.note(.purchaseRefunded, line())
        case .quarantined(let reason) where stored?.quarantine != reason:
            inputs.note(.purchaseQuarantined, line(because: reason))
        case .contested(let grant, let reason) where isNew:
            inputs.note(.purchaseContested, line(about: grant, because: reason))
        case .alreadyGranted, .contested, .revoked, .revokedUnseen, .quarantined: break
        }
    }

    private func line(about grant: Grant? = nil, because reason: QuarantineReason? = nil) -> Log.Fields {
        var match: OwnerMatch?
        if case .grant(_, _, _, let found) = decision.outcome { match = found }
        return [
            "transactionId": .text(transaction.id.text), "productId": .text(transaction.productID.text),
            "environment": .text(transaction.environment.rawValue), "orderId": .text(grant?.orderID.description),
            "user": .text(grant?.userID.text), "match": .text(match?.rawValue), "source": .text(origin.source.rawValue),
            "reason": .text(reason?.rawValue),
        ]
    }
}
