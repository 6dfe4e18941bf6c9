import TillJSON

/// One transaction across all answers, and all transactions of one customer.
enum TransactionChecks {
    /// One occurrence of a transaction.
    private struct Copy {
        var place: String
        var payload: JSONValue
    }

    private static func copies(_ record: AuditRecord) -> [(id: String, all: [Copy])] {
        var all: [Copy] = record.notified.compactMap { notification in
            notification.transaction.map { Copy(place: "\(notification.word) \(notification.uuid)", payload: $0) }
        }
        for customer in record.customers {
            all += customer.history.map { Copy(place: "the history of \(customer.account)", payload: $0) }
            all += customer.refunds.map { Copy(place: "the refunds of \(customer.account)", payload: $0) }
            all += customer.infos.map { Copy(place: "transaction info", payload: $0) }
            all += customer.statuses.map {
                Copy(place: "the statuses of \(customer.account)", payload: $0.transaction)
            }
        }
        return Dictionary(grouping: all) { $0.payload.id }.sorted { $0.key < $1.key }.map { id, all in
            let ordered = all.enumerated().sorted {
                ($0.element.payload.signed, $0.offset) < ($1.element.payload.signed, $1.offset)
            }
            return (id, ordered.map(\.element))
        }
    }

    /// The members of a transaction that may change; all others are fixed.
    private static let mayChange: Set<String> = [
        "signedDate", "revocationDate", "revocationReason", "revocationType", "revocationPercentage", "isUpgraded",
        "expiresDate", "appAccountToken",
    ]

    /// A transaction is the same in all answers.
    static func sameness(_ record: AuditRecord) -> [String] {
        var found: [String] = []
        for (id, all) in copies(record) {
            guard let first = all.first?.payload.object else { continue }
            for copy in all.dropFirst() {
                let members = copy.payload.object ?? [:]
                for name in Set(first.keys).union(members.keys).subtracting(mayChange).sorted()
                where first[name] != members[name] {
                    found.append("\(name) of transaction \(id) is another in \(copy.place)")
                }
            }
        }
        // These answers have one date, so the changing members agree as well.
        for customer in record.customers {
            let history = Dictionary(customer.history.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            let answers = customer.infos + customer.refunds + customer.statuses.map(\.transaction)
            for answer in answers {
                guard let own = history[answer.id] else {
                    found.append("transaction \(answer.id) of \(customer.account) is not in the history")
                    continue
                }
                for name in mayChange.subtracting(["signedDate"]).sorted() where own[name] != answer[name] {
                    found.append("\(name) of transaction \(answer.id) is not what the history says")
                }
            }
            for id in Set(history.keys).subtracting(customer.infos.map(\.id)).sorted() {
                found.append("transaction \(id) has no transaction info")
            }
        }
        return found
    }

    /// A transaction changes in one direction only, and a notification announces each change.
    static func changes(_ record: AuditRecord) -> [String] {
        let words = Dictionary(grouping: record.notified) { $0.id ?? "" }.mapValues { Set($0.map(\.type)) }
        let extended = Set(record.notified.filter { $0.type == "RENEWAL_EXTENDED" }.compactMap(\.original))
        var found: [String] = []
        for (id, all) in copies(record) {
            let notified = words[id] ?? []
            for (before, after) in zip(all, all.dropFirst()) {
                let (old, new) = (before.payload, after.payload)
                if old.isUpgraded, !new.isUpgraded { found.append("transaction \(id) is not upgraded any more") }
                if let expires = old.expires, let later = new.expires, expires != later {
                    if later < expires { found.append("transaction \(id) expires earlier than before") }
                    if !extended.contains(new.original) && !new.isShared {
                        found.append("transaction \(id) expires later, and nothing was extended")
                    }
                }
                if new.isShared, old["appAccountToken"] != new["appAccountToken"] {
                    found.append("transaction \(id) is a family's, and its token changed")
                }
                if let date = old.revoked, let other = new.revoked, date != other {
                    found.append("transaction \(id) was revoked at two times")
                }
                if old.revoked != nil, new.revoked == nil, !notified.contains("REFUND_REVERSED") {
                    found.append("transaction \(id) is not revoked any more, and no refund was reversed")
                }
                if old.revoked == nil, new.revoked != nil, notified.isDisjoint(with: ["REFUND", "REVOKE"]) {
                    found.append("transaction \(id) is revoked, and no notification said so")
                }
            }
        }
        return found
    }

    /// The refund history lists the refunded transactions of the history, by date (facts/server-api §3).
    static func refunds(_ record: AuditRecord) -> [String] {
        record.customers.flatMap { customer -> [String] in
            let revoked = customer.history.filter { $0.revoked != nil }
            let refunded = Set(revoked.filter { $0["revocationType"] != "FAMILY_REVOKE" }.map(\.id))
            let listed = customer.refunds.map(\.id)
            var found = refunded.subtracting(listed).sorted().map { "transaction \($0) is refunded, and not listed" }
            found += Set(listed).subtracting(revoked.map(\.id)).sorted().map {
                "transaction \($0) is listed, and not refunded"
            }
            if Set(listed).count != listed.count { found.append("\(customer.account) has one listed twice") }
            let dates = customer.refunds.map { $0.revoked ?? 0 }
            if dates != dates.sorted() { found.append("those of \(customer.account) are not in order") }
            return found
        }
    }

    /// A history lists each transaction of its app once, with the members of a revocation together.
    static func history(_ record: AuditRecord) -> [String] {
        var owners: [String: String] = [:]
        var found: [String] = []
        for customer in record.customers {
            for transaction in customer.history {
                if let owner = owners[transaction.id] {
                    found.append("transaction \(transaction.id) is \(owner)'s and \(customer.account)'s")
                }
                owners[transaction.id] = customer.account
                if transaction["bundleId"]?.string != customer.bundleID {
                    found.append("transaction \(transaction.id) is not of \(customer.bundleID)")
                }
                let isRevoked = transaction.revoked != nil
                if isRevoked != (transaction["revocationReason"] != nil)
                    || isRevoked != (transaction["revocationType"] != nil)
                {
                    found.append("transaction \(transaction.id) has some members of a revocation only")
                }
                if transaction["expiresDate"] == nil, transaction.original != transaction.id {
                    found.append("transaction \(transaction.id) is no subscription's, and not its own original")
                }
            }
        }
        return found
    }

    /// Each customer has one download of the app, shared with no other customer (facts/limits §1).
    static func downloads(_ record: AuditRecord) -> [String] {
        var owners: [String: String] = [:]
        return record.customers.flatMap { customer -> [String] in
            let renewals = customer.statuses.map(\.renewal)
            let all = customer.history + renewals + (customer.appTransaction.map { [$0] } ?? [])
            let numbers = Set(all.compactMap { $0["appTransactionId"]?.string })
            var found: [String] = []
            if numbers.count > 1 { found.append("\(customer.account) has the app transactions \(numbers.sorted())") }
            for number in numbers.sorted() {
                if let owner = owners[number] {
                    found.append("\(owner) and \(customer.account) share the app transaction \(number)")
                }
                owners[number] = customer.account
            }
            return found
        }
    }

    /// Free trials are free, and every other offer is below the list price, which other customers pay without it.
    static func prices(_ record: AuditRecord) -> [String] {
        let all = record.customers.flatMap(\.history).filter { !$0.isShared }
        func place(_ transaction: JSONValue) -> String {
            "\(transaction.product) \(transaction["storefront"]?.string ?? "")"
        }
        let list = Dictionary(
            all.filter { $0["offerType"] == nil }.map { (place($0), $0.price / max(1, $0.quantity)) },
            uniquingKeysWith: max)
        return all.compactMap { transaction -> String? in
            let (id, price) = (transaction.id, transaction.price)
            guard let discount = transaction["offerDiscountType"]?.string else {
                return transaction["offerType"] == nil ? nil : "transaction \(id) has an offer without a discount"
            }
            if discount == "FREE_TRIAL" { return price == 0 ? nil : "transaction \(id) is a free trial, and costs" }
            guard let full = list[place(transaction)] else { return nil }
            // One price for all periods of the offer.
            let periods = discount == "PAY_UP_FRONT" ? count(of: transaction["offerPeriod"]?.string) : 1
            let limit = full * transaction.quantity * periods
            return price < limit ? nil : "transaction \(id) costs \(price) with an offer, and \(limit) without"
        }
    }

    /// The number in `P3M`.
    private static func count(of period: String?) -> Int64 {
        period.flatMap { Int64($0.dropFirst().dropLast()) } ?? 1
    }

    /// A shared copy has no token, and another customer bought it before.
    static func family(_ record: AuditRecord) -> [String] {
        let bought = record.customers.flatMap { customer in
            customer.history.filter { !$0.isShared }.map { (customer.account, $0) }
        }
        let byProduct = Dictionary(grouping: bought) { $0.1.product }
        return record.customers.flatMap { customer in
            customer.history.filter(\.isShared).flatMap { shared -> [String] in
                var found: [String] = []
                if shared["appAccountToken"] != nil { found.append("transaction \(shared.id) is shared with a token") }
                let source = byProduct[shared.product]?.contains { account, own in
                    account != customer.account && own.purchased <= shared.purchased
                }
                if source != true { found.append("transaction \(shared.id) is shared, but no family member owns it") }
                return found
            }
        }
    }

    /// One introductory offer per group and customer, started by a purchase, without interruption (facts/business-rules
    /// §9).
    static func introductoryOffers(_ record: AuditRecord) -> [String] {
        record.customers.flatMap { customer -> [String] in
            let own = customer.history.filter { !$0.isShared && $0.expires != nil }
            return Dictionary(grouping: own, by: \.group).sorted { $0.key < $1.key }.flatMap { group, all -> [String] in
                let ordered = PeriodChecks.ordered(all)
                var runs = 0
                var isRunning = false
                for transaction in ordered {
                    let isIntroductory = transaction["offerType"] == 1
                    if isIntroductory, !(isRunning && transaction.isRenewal) { runs += 1 }
                    isRunning = isIntroductory
                }
                return runs > 1 ? ["\(customer.account) had \(runs) introductory offers in group \(group)"] : []
            }
        }
    }
}
