import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillThreads

/// Counts values by upper bounds, in whole units.
struct Histogram: Sendable {
    let bounds: [Int64]
    /// One for each bound, and one for everything above. A value is counted once.
    private(set) var counts: [Int64]
    private(set) var sum: Int64 = 0

    init(_ bounds: [Int64]) {
        self.bounds = bounds
        counts = [Int64](repeating: 0, count: bounds.count + 1)
    }

    mutating func add(_ value: Int64) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += 1
        sum += value
    }
}

/// Counts requests, refusals and failed verifications in memory, under one lock that is held for a few instructions.
///
/// The labels are bounded: routes are patterns, methods and codes are enums, and a status is an HTTP status.
final class RequestFigures: Sendable {
    /// The label of every address without a route.
    static let unmatched = "unmatched"
    /// In nanoseconds.
    static let bounds: [Int64] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000].map {
        $0 * 1_000_000
    }

    private struct Key: Hashable {
        let route: String
        let method: HTTPMethod
        let status: Int
    }

    private struct Series: Hashable {
        let route: String
        let method: HTTPMethod
    }

    private struct State {
        var requests: [Key: Int64] = [:]
        var durations: [Series: Histogram] = [:]
        var refusals: [Refusal: Int64] = [:]
        var verdicts: [Refusal: Int64] = [:]
        /// Refusals of floods, by the minute of the stopwatch.
        var floods: [Int64: Int64] = [:]
    }

    private let state = Locked(State())
    /// Routes that are exported before their first request, because alerts are about them.
    private static let watched: [Series] = [
        Series(route: "/v1/transactions", method: .post), Series(route: "/v1/orders", method: .post),
        Series(route: "/v1/notifications/apple", method: .post), Series(route: unmatched, method: .get),
    ]

    init() {
        state.withLock { state in
            for series in Self.watched {
                state.durations[series] = Histogram(Self.bounds)
                let status = series.route == Self.unmatched ? 404 : 200
                for status in [status, 500, 503] {
                    state.requests[Key(route: series.route, method: series.method, status: status)] = 0
                }
            }
        }
    }

    /// Counts an answered request.
    ///
    /// - Parameter route: the pattern; nil for an unknown address, and for a method that the address does not allow.
    func answered(_ request: HTTPRequest, _ route: String?, _ response: HTTPResponse, nanoseconds: Int64) {
        let series = Series(route: route ?? Self.unmatched, method: request.method)
        let key = Key(route: series.route, method: series.method, status: response.status)
        state.withLock { state in
            state.requests[key, default: 0] += 1
            state.durations[series, default: Histogram(Self.bounds)].add(max(0, nanoseconds))
        }
    }

    /// - Parameter nanoseconds: of a clock that is never set.
    func refused(_ refusal: Refusal, at nanoseconds: Int64) {
        state.withLock { state in
            state.refusals[refusal, default: 0] += 1
            guard Self.ofFloods.contains(refusal) else { return }
            let minute = nanoseconds / 60_000_000_000
            state.floods = state.floods.filter { (0..<Self.floodMinutes).contains(minute - $0.key) }
            state.floods[minute, default: 0] += 1
        }
    }

    /// The refusals of callers who send more than they may. The alert `TillFlood` is about them.
    static let ofFloods: [Refusal] = [.tooManyRequests, .tooManyOrders]
    static let floodMinutes: Int64 = 5

    /// How many such requests were refused in the last five minutes.
    func floodRefusals(at nanoseconds: Int64) -> Int64 {
        let minute = nanoseconds / 60_000_000_000
        return state.withLock { state in
            state.floods.reduce(0) { (0..<Self.floodMinutes).contains(minute - $1.key) ? $0 + $1.value : $0 }
        }
    }

    func failedVerification(_ refusal: Refusal) { state.withLock { $0.verdicts[refusal, default: 0] += 1 } }

    /// Every refusal that a verification can end with.
    private static let verdicts =
        Verdict.allCases.compactMap { $0 == .ok ? nil : Refusal(rawValue: $0.rawValue) } + [.certificateRevoked]

    var metrics: [Metric] {
        let state = state.withLock { $0 }
        let requests = state.requests.sorted { left, right in
            (left.key.route, left.key.method.rawValue, left.key.status)
                < (right.key.route, right.key.method.rawValue, right.key.status)
        }
        let durations = state.durations.sorted { left, right in
            (left.key.route, left.key.method.rawValue) < (right.key.route, right.key.method.rawValue)
        }
        return [
            Metric(
                .requests,
                requests.map { key, count in
                    Metric.Sample(
                        count: count, (name: "method", value: key.method.rawValue), (name: "route", value: key.route),
                        (name: "status", value: String(key.status)))
                }),
            Metric(
                .requestDuration,
                durations.map { series, histogram in
                    (
                        [(name: "method", value: series.method.rawValue), (name: "route", value: series.route)],
                        histogram
                    )
                }, scale: 1e9),
            Metric(
                .refusals,
                Refusal.allCases.map {
                    Metric.Sample(count: state.refusals[$0] ?? 0, (name: "code", value: $0.rawValue))
                }),
            Metric(
                .verificationFailures,
                Self.verdicts.map {
                    Metric.Sample(count: state.verdicts[$0] ?? 0, (name: "verdict", value: $0.rawValue))
                }),
        ]
    }
}
