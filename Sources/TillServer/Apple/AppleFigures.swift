import TillAppStore
import TillBilling
import TillJSON
import TillThreads

/// Counts Apple's answers, and keeps of each host what a person on call asks first: whether it answers, whether it
/// accepts the key, and whether its clock agrees with this server's.
public final class AppleFigures: Sendable {
    /// The label of hosts that the configuration does not name, such as those that answer about certificates.
    static let otherHost = "other"
    /// Different codes that are counted for one host; the rest is `other`.
    private static let maximumCodes = 50

    private struct Host {
        var answers: [String: Int64] = ["200": 0, "401": 0, "429": 0]
        var lastStatus: Int?
        var hasAsked = false
        var silentSince: Instant?
        var skew: Double?
    }

    private let state: Locked<[String: Host]>
    /// Those of the App Store Server API, which take the key.
    private let keyHosts: Set<String>

    init(_ hosts: AppleHosts) {
        keyHosts = Set(hosts.serverAPI.values.map(Self.authority(of:)))
        let all = keyHosts.union(hosts.verifyReceipt.values.map(Self.authority(of:))).union([Self.otherHost])
        state = Locked(Dictionary(uniqueKeysWithValues: all.map { ($0, Host()) }))
    }

    /// `https://api.storekit.apple.com/inApps/…` → `api.storekit.apple.com`.
    private static func authority(of url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        return parts.count > 1 ? String(parts[1]) : url
    }

    /// The same effect, with its requests counted.
    public func counting(_ send: @escaping AppleSend, clock: @escaping @Sendable () -> Instant) -> AppleSend {
        { [self] (request) async throws(AppleConnectionError) -> AppleResponse in
            do throws(AppleConnectionError) {
                let response = try await send(request)
                answered(request.url, response, at: clock())
                return response
            } catch {
                // A stopping server says nothing about Apple.
                if error.reason != .stopped { unanswered(request.url, error.reason, at: clock()) }
                throw error
            }
        }
    }

    private func answered(_ url: String, _ response: AppleResponse, at now: Instant) {
        let code = Self.code(of: response)
        let date = response.header("Date").flatMap(RetryAfter.date)
        change(url, code) { host in
            host.lastStatus = response.status
            host.silentSince = nil
            if let date { host.skew = Double(now.milliseconds - date.milliseconds) / 1_000 }
        }
    }

    private func unanswered(_ url: String, _ reason: AppleConnectionError.Reason, at now: Instant) {
        change(url, reason.rawValue) { host in host.silentSince = host.silentSince ?? now }
    }

    private func change(_ url: String, _ code: String, _ body: (inout Host) -> Void) {
        let named = Self.authority(of: url)
        state.withLock { hosts in
            let name = hosts[named] == nil ? Self.otherHost : named
            var host = hosts[name] ?? Host()
            let isKnown = host.answers[code] != nil || host.answers.count < Self.maximumCodes
            host.answers[isKnown ? code : "other", default: 0] += 1
            host.hasAsked = true
            body(&host)
            hosts[name] = host
        }
    }

    /// Apple's seven-digit error code, whose first digits are the status; else the status.
    private static func code(of response: AppleResponse) -> String {
        guard response.status >= 400, response.body.count < 4_096, let body = try? JSONValue(decoding: response.body),
            case .int(let code)? = body["errorCode"], code / 10_000 == Int64(response.status)
        else { return String(response.status) }
        return String(code)
    }

    // MARK: For readiness

    /// Whether a host's last answer was 401.
    var isKeyRefused: Bool {
        state.withLock { hosts in keyHosts.contains { hosts[$0]?.lastStatus == 401 } }
    }

    /// For how many milliseconds a host has not answered; 0 if each answers, or none was asked.
    func silence(at now: Instant) -> Int64 {
        state.withLock { hosts in
            hosts.values.compactMap(\.silentSince).map { now.milliseconds - $0.milliseconds }.max() ?? 0
        }
    }

    /// The largest known difference between this server's clock and a host's, in seconds.
    var skew: Double { state.withLock { hosts in hosts.values.compactMap(\.skew).map(abs).max() ?? 0 } }

    // MARK: For the scrape

    func metrics(at now: Instant) -> [Metric] {
        let hosts = state.withLock { $0 }.sorted { $0.key < $1.key }
        func gauge(_ definition: MetricDefinition, of wanted: [(key: String, value: Host)], _ value: (Host) -> Double?)
            -> Metric
        {
            Metric(definition, wanted.map { Metric.Sample(value($0.value) ?? .nan, (name: "host", value: $0.key)) })
        }
        return [
            Metric(
                .appleAnswers,
                hosts.flatMap { name, host in
                    host.answers.sorted { $0.key < $1.key }.map { code, count in
                        Metric.Sample(count: count, (name: "host", value: name), (name: "code", value: code))
                    }
                }),
            gauge(.appleKeyRefused, of: hosts.filter { keyHosts.contains($0.key) }) { host in
                host.lastStatus.map { $0 == 401 ? 1 : 0 }
            },
            gauge(.appleUnanswered, of: hosts) { host in
                guard host.hasAsked else { return nil }
                return host.silentSince.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1_000) } ?? 0
            },
            gauge(.clockSkew, of: hosts, \.skew),
        ]
    }

    /// What is left of Apple's quotas.
    static func budget(of api: ServerAPI?, _ environments: [StoreEnvironment]) -> [Metric] {
        func samples(_ value: (ServerAPI, ServerAPI.Endpoint, StoreEnvironment) -> Double) -> [Metric.Sample] {
            environments.flatMap { environment in
                ServerAPI.Endpoint.allCases.map { endpoint in
                    Metric.Sample(
                        api.map { value($0, endpoint, environment) } ?? .nan,
                        (name: "environment", value: environment.rawValue),
                        (name: "endpoint", value: endpoint.rawValue))
                }
            }
        }
        return [
            Metric(.budgetLeft, samples { $0.budget.left(of: $1, in: $2) }),
            Metric(.budgetWaiting, samples { Double($0.budget.waiting(for: $1, in: $2)) }),
        ]
    }
}
