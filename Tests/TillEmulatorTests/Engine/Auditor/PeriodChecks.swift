import TillJSON

/// The consecutive periods of one subscription (facts/business-rules §8).
enum PeriodChecks {
    /// Ordered by purchase date, and at the same moment by number.
    static func ordered(_ transactions: [JSONValue]) -> [JSONValue] {
        transactions.sorted {
            ($0.purchased, Int64($0.id) ?? 0) < ($1.purchased, Int64($1.id) ?? 0)
        }
    }

    /// Renewals are attempted within the day before (facts/business-rules §8.3).
    private static let early: Int64 = 86_400_000

    static func periods(_ record: AuditRecord) -> [String] {
        let births = Dictionary(
            record.notified.compactMap { notification in notification.id.map { ($0, notification.word) } },
            uniquingKeysWith: { first, _ in first })
        let graces = Set(record.notified.filter { $0.word == "DID_FAIL_TO_RENEW/GRACE_PERIOD" }.compactMap(\.id))
        let all = record.customers.flatMap(\.history).filter { $0.expires != nil }
        return Dictionary(grouping: all, by: \.original).sorted { $0.key < $1.key }.flatMap { original, all in
            let periods = ordered(all)
            var found = chain(original, periods)
            for (before, after) in zip(periods, periods.dropFirst()) {
                // A shared copy has the same grace period as the purchaser's, without a notification.
                let hadGrace = graces.contains(before.id) || before.isShared
                found += pair(before, after, birth: births[after.id] ?? "nothing", hadGrace: hadGrace)
            }
            return found
        }
    }

    private static func chain(_ original: String, _ periods: [JSONValue]) -> [String] {
        var found: [String] = []
        if let first = periods.first, first.id != original || first.isRenewal {
            found.append("subscription \(original) begins with transaction \(first.id)")
        }
        for period in periods {
            if period["originalPurchaseDate"]?.int != periods[0].purchased {
                found.append("transaction \(period.id) has another originalPurchaseDate than its first")
            }
            if period.expires ?? 0 <= period.purchased {
                found.append("transaction \(period.id) ends before it begins")
            }
            if period.group != periods[0].group { found.append("transaction \(period.id) is of another group") }
        }
        let items = periods.compactMap { $0["webOrderLineItemId"]?.string }
        if Set(items).count != periods.count { found.append("subscription \(original) has a line item twice or none") }
        return found
    }

    /// The longest grace period (facts/business-rules §8.3).
    private static let grace: Int64 = 28 * 86_400_000

    private static func pair(
        _ before: JSONValue, _ after: JSONValue, birth: String, hadGrace: Bool
    ) -> [String] {
        let name = "transaction \(after.id) after \(before.id)"
        let end = min(before.expires ?? 0, before.revoked ?? .max)
        let gap = after.purchased - end
        var found: [String] = []
        if after.isRenewal {
            if gap < -early || after.expires ?? 0 <= before.expires ?? 0 { found.append("\(name) overlaps it") }
            if gap > 0, birth != "DID_RENEW/BILLING_RECOVERY" {
                found.append("\(name) left a gap of \(gap) ms, and came by \(birth)")
            }
            if before.revoked != nil, before.revoked ?? 0 < after.purchased - early {
                found.append("\(name) renewed what was revoked")
            }
            if !["DID_RENEW", "DID_RENEW/BILLING_RECOVERY"].contains(birth) {
                found.append("\(name) is a renewal that came by \(birth)")
            }
            return found
        }
        let isUpgrade = birth.hasSuffix("/UPGRADE") || birth == "OFFER_REDEEMED"
        if before.isUpgraded {
            if !isUpgrade { found.append("\(name) is an upgrade that came by \(birth)") }
        } else if gap < 0 {
            found.append("\(name) overlaps it by \(-gap) ms, and it was not upgraded")
        } else if birth != "SUBSCRIBED/RESUBSCRIBE", !isUpgrade {
            found.append("\(name) was bought again, and came by \(birth)")
        } else if gap > 0, isUpgrade, !hadGrace || gap > grace {
            // An ended period can be upgraded only in its grace period, while the service still runs.
            found.append("\(name) is an upgrade of what had ended \(gap) ms before")
        }
        return found
    }
}
