import TillBilling
import TillHTTP
import TillLedger
import TillThreads

/// How many requests the server accepts from one user, with one key and from one address: `limits` of the
/// configuration.
public struct RequestLimits: Sendable, Hashable {
    /// So many requests at once, and then so many a second.
    public struct Rate: Sendable, Hashable {
        public var perSecond: Int64
        public var burst: Int64

        public init(perSecond: Int64, burst: Int64) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// Requests with one user's tokens.
    public var user = Rate(perSecond: 10, burst: 600)
    /// Requests with one secret key: a backend acts for all of its users.
    public var key = Rate(perSecond: 2_000, burst: 4_000)
    /// Requests from one network address without a valid credential.
    public var address = Rate(perSecond: 50, burst: 1_000)

    public init() {}
}

/// Refuses requests beyond ``RequestLimits`` with 429 and the seconds after which they succeed.
///
/// An address is counted before a credential is checked, and gets its token back if the credential is valid. So an
/// address that many customers share is not used up by their valid requests.
final class RequestLimiter: Sendable {
    enum Limit: String, CaseIterable, Sendable {
        case user, key, address
    }

    /// How many user tokens from addresses without tokens are checked nevertheless, for all such addresses together.
    /// Valid ones pass: behind a proxy that is not in `trustedProxies`, all customers share one address.
    static let reserve = TokenBuckets.Rate(interval: 10_000, burst: 100)

    private let users: TokenBuckets
    private let keys: TokenBuckets
    private let addresses: TokenBuckets
    private let reserve: TokenBuckets
    private let limits: RequestLimits
    private let log: Log
    private let counts = Locked((refused: [Limit: Int64](), replaced: [Limit: Int64]()))

    /// - Parameter clock: this machine's clock, which no emulated store moves.
    init(_ limits: RequestLimits, clock: @escaping Server.Clock, log: Log) {
        self.limits = limits
        self.log = log
        let counts = counts
        func buckets(_ limit: Limit, _ rate: RequestLimits.Rate) -> TokenBuckets {
            TokenBuckets(TokenBuckets.Rate(rate), clock: clock) {
                counts.withLock { $0.replaced[limit, default: 0] += 1 }
                log.write(.limitTableFull, ["limit": .text(limit.rawValue)])
            }
        }
        users = buckets(.user, limits.user)
        keys = buckets(.key, limits.key)
        addresses = buckets(.address, limits.address)
        reserve = TokenBuckets(Self.reserve, capacity: 1, clock: clock)
    }

    // MARK: Users and keys

    /// Counts one request of an authenticated caller.
    func take(_ credential: Credential) throws(RefusalError) {
        guard let (limit, buckets) = buckets(of: credential) else { return }
        if let wait = buckets.take(credential.name) { throw refusal(limit, wait) }
    }

    /// Refuses like ``take(_:)`` and counts nothing: for a request whose body is not read yet.
    func requireRoom(for credential: Credential) throws(RefusalError) {
        guard let (limit, buckets) = buckets(of: credential) else { return }
        if let wait = buckets.wait(of: credential.name) { throw refusal(limit, wait) }
    }

    private func buckets(of credential: Credential) -> (Limit, TokenBuckets)? {
        switch credential {
        case .user: (.user, users)
        case .backend: (.key, keys)
        case .anonymous: nil
        }
    }

    // MARK: Addresses

    /// Counts one request that carries no credential.
    func takeAddress(of request: HTTPRequest) throws(RefusalError) {
        if let wait = addresses.take(request.clientNetwork) { throw refusal(.address, wait) }
    }

    /// Refuses like ``takeAddress(of:)`` and counts nothing.
    func requireRoom(forAddressOf request: HTTPRequest) throws(RefusalError) {
        if let wait = addresses.wait(of: request.clientNetwork) { throw refusal(.address, wait) }
    }

    /// Checks a credential. If it is wrong, the request counts for its address.
    ///
    /// - Parameter isCheap: whether the check is one hash. Then it is made in every case, so that no flood locks a
    ///   backend or an operator out. Once the address is used up, a wrong credential gets 429.
    func check<Value>(_ request: HTTPRequest, isCheap: Bool = false, _ check: () throws -> Value) throws -> Value {
        let (address, refused) = try enter(request, isCheap)
        let value: Value
        do {
            value = try check()
        } catch let error as RefusalError where error.refusal == .unauthorized {
            throw refused ?? error
        }
        if refused == nil { addresses.giveBack(address) }
        return value
    }

    private func enter(_ request: HTTPRequest, _ isCheap: Bool) throws -> (address: String, refused: RefusalError?) {
        let address = request.clientNetwork
        guard let wait = addresses.take(address) else { return (address, nil) }
        let refused = refusal(.address, wait)
        guard isCheap || reserve.take("") == nil else { throw refused }
        return (address, refused)
    }

    // MARK: Refusals

    private func refusal(_ limit: Limit, _ wait: Int64) -> RefusalError {
        counts.withLock { $0.refused[limit, default: 0] += 1 }
        log.write(.limitReached, ["limit": .text(limit.rawValue), "retryAfter": .integer(wait)])
        let (rate, en, zh) =
            switch limit {
            case .user: (limits.user, "one user", "每个用户")
            case .key: (limits.key, "one key", "每个密钥")
            case .address: (limits.address, "one address, without a valid credential", "同一地址、没有有效凭证")
            }
        return RefusalError(
            .tooManyRequests, "requests of \(en): \(rate.burst) at once, then \(rate.perSecond) a second",
            zh: "\(zh)的请求：一次最多 \(rate.burst) 个，此后每秒 \(rate.perSecond) 个", retryAfter: wait)
    }

    // MARK: Metrics

    var metrics: [Metric] {
        let (refused, replaced) = counts.withLock { $0 }
        func samples(_ value: (Limit) -> Int64) -> [Metric.Sample] {
            Limit.allCases.map { Metric.Sample(count: value($0), (name: "limit", value: $0.rawValue)) }
        }
        return [
            Metric(.requestsLimited, samples { refused[$0] ?? 0 }),
            Metric(
                .limitBuckets, samples { Int64([.user: users, .key: keys, .address: addresses][$0]?.count ?? 0) }),
            Metric(.bucketsReplaced, samples { replaced[$0] ?? 0 }),
        ]
    }
}
