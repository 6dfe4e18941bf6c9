import TillAppStore
import TillBilling
import TillCrypto

/// Counts what each app asks of each endpoint, and says when it was enough: so many in an hour, by the store's clock
/// (facts/server-api §7).
struct RequestMeter: Sendable {
    private struct Key: Hashable {
        var route: ServerAPIRoute
        var bundleID: String
    }

    private struct Hour {
        /// Hours since 1970.
        var number: Int64 = .min
        var asked: [Key: Int64] = [:]
    }

    private let environment: Environment
    private let quotas: RequestQuotas
    private let hour = Locked(Hour())

    /// A token may name any app, so more than these share one count.
    private static let appLimit = 10_000

    init(_ quotas: RequestQuotas?, environment: Environment) {
        self.quotas = quotas ?? RequestQuotas()
        self.environment = environment
    }

    /// Counts a request, if there is room for it.
    /// - Returns: nil if there is; otherwise the moment there will be.
    func count(_ route: ServerAPIRoute, of bundleID: String, at now: Instant) -> Instant? {
        let number = now.seconds / 3_600
        let limit = limit(of: route)
        return hour.withLock { hour in
            if hour.number != number { hour = Hour(number: number) }
            var key = Key(route: route, bundleID: bundleID)
            if hour.asked[key] == nil, hour.asked.count >= Self.appLimit { key.bundleID = "" }
            let asked = hour.asked[key] ?? 0
            guard asked < limit else { return Instant(seconds: (number + 1) * 3_600) }
            hour.asked[key] = asked + 1
            return nil
        }
    }

    /// Apple's quotas are written per second and enforced per hour.
    private func limit(of route: ServerAPIRoute) -> Int64 {
        let quota = quotas[route.quota, environment]
        let steady = Int64(quota.count) * 3_600_000 / quota.window
        return max(1, min(steady, Int64(quota.hourly ?? .max)))
    }
}
