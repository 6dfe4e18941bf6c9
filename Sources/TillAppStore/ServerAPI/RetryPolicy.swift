import TillBilling

/// How often, and after which pauses, a request with a retryable fault is repeated. Times are in milliseconds.
public struct RetryPolicy: Sendable, Hashable {
    /// The total number of requests, including the first.
    public var attempts: Int
    /// The first pause; each later one is twice as long.
    public var first: Int64 = 1_000
    public var longest: Int64 = 60_000
    /// The first pause after an error of Apple's server that is not marked retryable (5000000).
    public var late: Int64 = 300_000
    /// The maximum of all pauses together. A fault that names a later time is thrown at once.
    public var timeLimit: Int64

    public init(attempts: Int, timeLimit: Int64) {
        self.attempts = attempts
        self.timeLimit = timeLimit
    }

    /// For a request that a person waits for.
    public static let brief = RetryPolicy(attempts: 3, timeLimit: 10_000)
    /// For background work, which can wait for an hour's quota.
    public static let persistent = RetryPolicy(attempts: 8, timeLimit: 4_000_000)
    public static let none = RetryPolicy(attempts: 1, timeLimit: 0)

    /// The pause after this many failed attempts; nil to give up.
    ///
    /// - Parameters:
    ///   - spent: milliseconds of pauses so far.
    ///   - random: from 0 to below 1; varies each pause, so that many callers do not retry at the same time.
    func pause(
        after attempts: Int, _ fault: ServerAPIError, spent: Int64, now: Instant, random: Double
    ) -> Int64? {
        guard attempts < self.attempts else { return nil }
        func backOff(_ first: Int64, upTo longest: Int64) -> Int64 {
            let doublings = Int64(min(max(attempts - 1, 0), 20))
            let whole = max(1, min(min(first, longest) << doublings, longest))
            return whole / 2 + Int64(Double(whole / 2) * random)
        }
        let pause: Int64
        switch fault.retry {
        case .never: return nil
        case .soon: pause = backOff(first, upTo: longest)
        case .late: pause = backOff(late, upTo: max(late, longest))
        case .at(let instant):
            let (wait, overflows) = instant.milliseconds.subtractingReportingOverflow(now.milliseconds)
            pause = overflows ? .max : max(wait, 0)
        }
        return pause <= timeLimit - spent ? pause : nil
    }
}

extension ServerAPI {
    /// Sends a request, and repeats it after a temporary fault: at the time that the fault names, or after a back-off.
    ///
    ///     try await api.retrying(.brief) { try await $0.transactionInfo(id) }
    ///
    /// - Throws: the last fault; `outage` with `stopped` if the task was cancelled in a pause.
    public func retrying<Value>(
        _ policy: RetryPolicy, _ ask: (ServerAPI) async throws(ServerAPIError) -> Value
    ) async throws(ServerAPIError) -> Value {
        var attempts = 0
        var spent: Int64 = 0
        while true {
            let fault: ServerAPIError
            do throws(ServerAPIError) {
                return try await ask(self)
            } catch {
                fault = error
            }
            attempts += 1
            let bits = effects.entropy(4).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let random = Double(bits) / (Double(UInt32.max) + 1)
            guard
                let pause = policy.pause(after: attempts, fault, spent: spent, now: effects.clock(), random: random)
            else { throw fault }
            await effects.pause(pause)
            if Task.isCancelled { throw .outage(AppleConnectionError(.stopped, "cancelled between two attempts")) }
            spent += pause
        }
    }
}

/// The `Retry-After` of a 429. Apple writes a Unix time in milliseconds (facts/server-api §7). HTTP's own forms
/// (seconds to wait, a date) and a Unix time in seconds are accepted too, because proxies write them.
public enum RetryAfter {
    /// Apple enforces quotas per hour, so longer values are implausible.
    public static let longest: Int64 = 3_600_000
    /// For a time in the past, which means that two clocks differ.
    static let shortest: Int64 = 1_000
    /// The pause if there is no readable value.
    static let defaultPause: Int64 = 60_000

    /// - Parameter longest: the maximum in milliseconds that the caller accepts.
    /// - Returns: nil if the text is unreadable; otherwise a time between one second and `longest` from now.
    public static func instant(_ text: String?, now: Instant, longest: Int64 = longest) -> Instant? {
        guard let text = text.map({ $0.trimmed }), !text.isEmpty, text.utf8.count <= 40 else { return nil }
        let time: Instant
        if let number = Int64(text) {
            guard number >= 0 else { return nil }
            switch number {
            // Milliseconds since 1970 reach this value in 1973, seconds in 5138.
            case 100_000_000_000...: time = Instant(milliseconds: number)
            case 1_000_000_000...: time = Instant(seconds: number)
            default: time = now.adding(seconds: number)
            }
        } else {
            guard let date = date(text) else { return nil }
            time = date
        }
        return min(max(time, now.adding(milliseconds: shortest)), now.adding(milliseconds: longest))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only format that RFC 9110 §5.6.7 allows senders to generate.
    package static func date(_ text: String) -> Instant? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]),
            let month = months.firstIndex(of: String(words[2])), let year = Int(words[3]), (1970...9999).contains(year),
            let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        let time = words[4].split(separator: ":").map { Int($0) ?? -1 }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        let seconds = Int64(date.daysSinceEpoch) * 86_400 + Int64(time[0] * 3_600 + time[1] * 60 + time[2])
        return Instant(seconds: seconds)
    }
}

extension String {
    /// Without blanks at either end.
    fileprivate var trimmed: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
