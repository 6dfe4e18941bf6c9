import TillAppStore

/// Get All Subscription Statuses compared with the histories and the notifications.
enum StatusChecks {
    /// One status per subscription, about its newest period, equal to the last notification's.
    static func statuses(_ record: AuditRecord) -> [String] {
        let last = Dictionary(
            record.subscriptionLives.compactMap { original, all in all.last.map { (original, $0) } },
            uniquingKeysWith: { first, _ in first })
        return record.customers.flatMap { customer -> [String] in
            let periods = Dictionary(grouping: customer.history.filter { $0.expires != nil }, by: \.original)
            var found: [String] = []
            let listed = customer.statuses.map(\.original)
            if Set(listed).count != listed.count { found.append("\(customer.account) has one listed twice") }
            for original in Set(listed).symmetricDifference(periods.keys).sorted() {
                found.append("subscription \(original) is in the history or has a status, and not both")
            }
            for status in customer.statuses {
                if status.transaction.original != status.original || status.renewal.original != status.original {
                    found.append("the status of \(status.original) is about another subscription")
                }
                let newest = PeriodChecks.ordered(periods[status.original] ?? []).last
                if let newest, newest.id != status.transaction.id {
                    found.append("the status of \(status.original) shows \(status.transaction.id), not \(newest.id)")
                }
                guard let stated = last[status.original]?.status else { continue }
                // The grace period of a shared subscription is announced only to the purchaser.
                let isInGrace = status.transaction.isShared && stated == 1 && status.status == 4
                if stated != status.status, !isInGrace {
                    found.append("\(status.original) has status \(status.status), and was told to have \(stated)")
                }
            }
            return found
        }
    }

    /// The status agrees with the dates (facts/server-api §4.2).
    static func dates(_ record: AuditRecord) -> [String] {
        record.customers.flatMap(\.statuses).compactMap { status -> String? in
            let (name, renewal) = ("subscription \(status.original)", status.renewal)
            let runs = (status.transaction.expires ?? 0) > record.now
            let isRevoked = status.transaction.revoked != nil
            let isRetrying = renewal["isInBillingRetryPeriod"]?.bool ?? false
            let inGrace = (renewal["gracePeriodExpiresDate"]?.int ?? 0) > record.now
            let intent = renewal["expirationIntent"]?.int
            switch status.status {
            case 1 where !runs || isRevoked || isRetrying: return "\(name) is active, and its dates say otherwise"
            case 2 where runs && !isRevoked || intent == nil || isRetrying:
                return "\(name) is expired, and its dates or its intent say otherwise"
            case 3 where runs || inGrace || !isRetrying || intent != nil && intent != 2:
                return "\(name) is in billing retry, and its dates say otherwise"
            case 4 where runs || !inGrace || !isRetrying:
                return "\(name) is in its grace period, and its dates say otherwise"
            case 5 where !isRevoked: return "\(name) is revoked, and its transaction is not"
            case 1...5: return nil
            default: return "\(name) has the status \(status.status)"
            }
        }
    }

    /// A renewal info is about the transaction next to it (facts/jws §5).
    static func renewalInfos(_ record: AuditRecord) -> [String] {
        record.customers.flatMap(\.statuses).flatMap { status -> [String] in
            let (transaction, renewal) = (status.transaction, status.renewal)
            var found: [String] = []
            func expect(_ agrees: Bool, _ member: String) {
                if !agrees {
                    found.append("\(member) of \(status.original) does not fit transaction \(transaction.id)")
                }
            }
            expect(renewal["productId"] == transaction["productId"], "productId")
            expect(renewal["renewalDate"] == transaction["expiresDate"], "renewalDate")
            expect(renewal["environment"] == transaction["environment"], "environment")
            expect(renewal["autoRenewProductId"] != nil, "autoRenewProductId")
            let recent = renewal["recentSubscriptionStartDate"]?.int ?? 0
            let first = transaction["originalPurchaseDate"]?.int ?? 0
            expect((first...max(first, transaction.purchased)).contains(recent), "recentSubscriptionStartDate")
            // Introductory offers have no identifier, all others have one (facts/jws §4).
            let offer = renewal["offerType"]?.int
            let hasIdentifier = renewal["offerIdentifier"] != nil
            expect(offer == nil || hasIdentifier == (offer != 1), "offerIdentifier")
            expect(offer == nil || renewal["offerDiscountType"] != nil, "offerDiscountType")
            expect(offer != nil || !hasIdentifier, "offerType")
            if renewal["autoRenewStatus"] == 0 { expect(renewal["renewalPrice"] == nil, "renewalPrice") }
            return found
        }
    }
}
