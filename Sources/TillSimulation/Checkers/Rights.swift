import TillAppStore
import TillBilling

/// The users who may use a subscription at a moment, according to Apple's records and the world's memory of who paid.
struct Rights {
    /// Users, with the transactions that give them the right.
    private(set) var users: [String: String] = [:]
    /// Apple changed something recently, or will soon, so the server may not know it yet.
    private(set) var isAboutToChange = false

    /// The time that a notification may take.
    private static let tolerance: Int64 = 3_600_000

    /// - Parameter grace: the end of Apple's grace period, by the first transaction of a chain.
    init(_ sold: [AppleHost.StoreSale], grace: [String: Instant], at now: Instant, _ groundTruth: GroundTruth) {
        let all = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let chains = Dictionary(grouping: sold.filter { $0.expiresAt != nil && $0.isPaid && !$0.isShared }) {
            $0.originalID
        }
        for (original, periods) in chains.sorted(by: { $0.key < $1.key }) {
            let periods = periods.sorted {
                ($0.purchasedAt, Int64($0.id) ?? 0) < ($1.purchasedAt, Int64($1.id) ?? 0)
            }
            // A period that a later purchase replaced gives no right, even if the later one was refunded.
            let first = periods.lastIndex { !$0.isRenewal } ?? 0
            let run = periods[first...]
            for period in run {
                let end = end(of: period, isLast: period.id == run.last?.id, grace[original])
                let moments = [period.purchasedAt, end, period.expiresAt, period.revokedAt].compactMap { $0 }
                if moments.contains(where: { abs(now.milliseconds - $0.milliseconds) < Self.tolerance }) {
                    isAboutToChange = true
                }
                // Apple may charge a day early: until the previous period has ended, both are paid.
                if period.isRenewal, period.purchasedAt <= now, now < periods.endOfPeriod(before: period) {
                    isAboutToChange = true
                }
                guard period.revokedAt == nil, period.purchasedAt <= now, now < end else { continue }
                if let user = groundTruth.owner(of: period, in: all) { users[user] = period.id }
            }
        }
    }

    private func end(of period: AppleHost.StoreSale, isLast: Bool, _ grace: Instant?) -> Instant {
        let end = period.expiresAt ?? period.purchasedAt
        guard isLast, let grace else { return end }
        return max(end, grace)
    }
}

extension [AppleHost.StoreSale] {
    fileprivate func endOfPeriod(before period: AppleHost.StoreSale) -> Instant {
        let end = firstIndex { $0.id == period.id }.flatMap { $0 > 0 ? self[$0 - 1].expiresAt : nil }
        return end ?? period.purchasedAt
    }
}

extension Auditor {
    /// Every payer has the right, and every right has a payer, except during Apple's grace period.
    func check(rightsOf users: [String], _ backend: Backend) async {
        let now = parts.scheduler.now
        guard let sold = try? await apple.transactions() else { return }
        let rights = Rights(sold, grace: await apple.graces(), at: now, groundTruth)
        guard !rights.isAboutToChange else { return }
        for user in users {
            guard let has = await backend.mayUse("member", user) else {
                complain(.stuck, "the entitlements of \(user) can't be read", about: ["user \(user)"])
                continue
            }
            rightsChecks += 1
            let payment = rights.users.first { groundTruth.isSame(user, as: $0.key) }?.value
            if let payment, !has.allowed {
                complain(
                    .lost, "\(user) paid by \(payment) and may not use it at \(now.rfc3339)",
                    about: ["user \(user)", "transaction \(payment)"])
            }
            if payment == nil, has.allowed {
                complain(
                    .misattributed, "\(user) has an entitlement without a payment at \(now.rfc3339)",
                    about: ["user \(user)"] + has.sources.map { "transaction \($0)" } + chains(of: has.sources, sold))
            }
        }
    }

    /// All transactions of the chains that these belong to, for the trace.
    private func chains(of ids: [String], _ sold: [AppleHost.StoreSale]) -> [String] {
        let originals = Set(sold.filter { ids.contains($0.id) }.map(\.originalID))
        return sold.filter { originals.contains($0.originalID) }.map { "transaction \($0.id)" }
    }
}
