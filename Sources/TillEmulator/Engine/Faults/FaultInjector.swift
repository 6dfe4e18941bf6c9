import TillBilling
import TillJSON
import TillThreads

/// Injects faults into incoming requests and outgoing notifications at the configured fault rates. The same requests in
/// the same order at an endpoint meet the same faults, whatever happens at other endpoints.
///
/// Only fault rates and seed outlive a restart: a durable count of requests would cost one commit each.
final class FaultInjector: Sendable {
    struct Report: Sendable {
        var settings: FaultSettings?
        var requests: [FaultEndpoint: Int64] = [:]
        var injected: [FaultEndpoint: [StoreFault: Int64]] = [:]
    }

    private struct State {
        var report = Report()
        /// The number of purchases that had an `appAccountToken`.
        var purchases: Int64 = 0
        /// The place of the request that waits for the next one at its endpoint.
        var held: [FaultEndpoint: UInt64] = [:]
        var late: LateNotification?
        var isStopping = false
    }

    let clock: StoreClock
    let delayedRequests: DelayedRequests
    private let state: Locked<State>
    /// Wakes `runLateDeliveries` while it is running.
    let signal = Locked<AsyncStream<Void>.Continuation?>(nil)

    /// - Parameter pause: returns after the given number of milliseconds, or at once when the calling task is
    ///   cancelled. Nil: requests are neither delayed nor held for the next one.
    init(_ settings: FaultSettings?, clock: StoreClock, pause: (@Sendable (Int64) async -> Void)?) {
        self.clock = clock
        delayedRequests = DelayedRequests(pause: pause)
        var state = State()
        state.report.settings = settings
        self.state = Locked(state)
    }

    var isOn: Bool { state.withLock { $0.report.settings != nil && !$0.isStopping } }

    var report: Report { state.withLock { $0.report } }

    /// Restarts the counts with these settings; nil ends fault injection. Delayed requests continue.
    func begin(_ settings: FaultSettings?) {
        state.withLock { state in
            state.report = Report(settings: settings)
            state.purchases = 0
            state.held = [:]
        }
        delayedRequests.releaseAll()
    }

    /// Stops fault injection for shutdown and lets delayed requests continue.
    func stop() {
        state.withLock { $0.isStopping = true }
        delayedRequests.releaseAll()
    }

    // MARK: Random faults

    /// The faults drawn for one request.
    struct RequestFaults: Sendable {
        let endpoint: FaultEndpoint
        let rates: FaultRates
        let random: SeededRandom

        func includes(_ fault: StoreFault) -> Bool {
            switch fault {
            // One random number decides both, so that the sum of both rates is the probability of either.
            case .dropBefore: random.draw("drop") < rates.chance(of: .dropBefore)
            case .dropAfter:
                !includes(.dropBefore)
                    && random.draw("drop") < rates.chance(of: .dropBefore) + rates.chance(of: .dropAfter)
            default: random.draw(fault.rawValue) < rates.chance(of: fault)
            }
        }
    }

    /// The faults for the next request of an endpoint; nil while fault injection is off.
    func draw(_ endpoint: FaultEndpoint) -> RequestFaults? {
        state.withLock { state in
            guard let settings = state.report.settings, !state.isStopping else { return nil }
            state.report.requests[endpoint, default: 0] += 1
            let number = state.report.requests[endpoint] ?? 0
            return RequestFaults(
                endpoint: endpoint, rates: settings.rates(of: endpoint),
                random: SeededRandom(
                    seed: settings.seed, start: settings.start, stream: endpoint.rawValue, number: number))
        }
    }

    /// Counts a fault that was injected.
    func count(_ fault: StoreFault, at endpoint: FaultEndpoint) {
        state.withLock { $0.report.injected[endpoint, default: [:]][fault, default: 0] += 1 }
    }

    func skew(of endpoint: FaultEndpoint) -> Int64 {
        state.withLock { $0.isStopping ? 0 : $0.report.settings?.rates(of: endpoint).skew ?? 0 }
    }

    // MARK: Purchases

    /// The purchase as the store receives it: the fault `lostApplicationUsername` removes its `appAccountToken`.
    /// Purchases have a count of their own, because an app in this process buys without a request.
    func arrived(_ purchase: PurchaseRequest) -> PurchaseRequest {
        guard purchase.appAccountToken != nil else { return purchase }
        let isLost = state.withLock { state in
            guard let settings = state.report.settings, !state.isStopping else { return false }
            state.purchases += 1
            let fault = StoreFault.lostApplicationUsername
            let random = SeededRandom(
                seed: settings.seed, start: settings.start, stream: fault.rawValue, number: state.purchases)
            guard random.draw(fault.rawValue) < settings.rates(of: .purchases).chance(of: fault) else { return false }
            state.report.injected[.purchases, default: [:]][fault, default: 0] += 1
            return true
        }
        guard isLost else { return purchase }
        var purchase = purchase
        purchase.appAccountToken = nil
        return purchase
    }

    // MARK: Order

    /// The request that waits for this one, if any; it is no longer held for a later one.
    func takeHeld(at endpoint: FaultEndpoint) -> UInt64? {
        state.withLock { $0.held.removeValue(forKey: endpoint) }
    }

    /// A place in which a request waits for the next one at its endpoint; nil if another request waits there. Two
    /// waiting requests would wait for each other for ever.
    func placeToHold(at endpoint: FaultEndpoint) -> UInt64? {
        let ticket = delayedRequests.makeTicket()
        let isMine = state.withLock { state in
            guard state.held[endpoint] == nil, !state.isStopping else { return false }
            state.held[endpoint] = ticket
            return true
        }
        if !isMine { delayedRequests.release(ticket) }
        return isMine ? ticket : nil
    }

    func leave(_ ticket: UInt64, at endpoint: FaultEndpoint) {
        state.withLock { if $0.held[endpoint] == ticket { $0.held[endpoint] = nil } }
    }

    /// Holds a notification back so that the next one overtakes it; false if another is held back already.
    func hold(_ notification: LateNotification) -> Bool {
        state.withLock { state in
            guard state.late == nil, !state.isStopping else { return false }
            state.late = notification
            return true
        }
    }

    /// Takes the held notification for delivery now.
    /// - Parameter orAge: if true, a notification is only marked the first time and taken the second time.
    func takeLate(orAge: Bool = false) -> LateNotification? {
        state.withLock { state in
            if orAge, state.late?.isOld == false {
                state.late?.isOld = true
                return nil
            }
            defer { state.late = nil }
            return state.late
        }
    }
}

/// The random numbers for one request: a pure function of the seed, the endpoint and the request's number there. Other
/// endpoints, other fault rates and timing do not change which faults occur.
struct SeededRandom {
    private let state: UInt64

    /// - Parameters:
    ///   - start: how often the store was opened before with this seed.
    ///   - stream: the name of the count, usually an endpoint's.
    ///   - number: the request's number in that count, from 1.
    init(seed: Int64, start: Int64, stream: String, number: Int64) {
        var state = UInt64(bitPattern: seed)
        for word in [UInt64(bitPattern: start), Self.hash(stream), UInt64(bitPattern: number)] {
            state = Self.mixed(state ^ word)
        }
        self.state = state
    }

    /// A number in 0..<1.
    func draw(_ name: String) -> Double {
        Double(Self.mixed(state ^ Self.hash(name)) >> 11) / Double(UInt64(1) << 53)
    }

    func number(_ name: String, in range: ClosedRange<Int64>) -> Int64 {
        let (width, overflows) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
        guard !overflows, width < .max else { return range.lowerBound }
        return range.lowerBound + min(Int64(draw(name) * Double(width + 1)), width)
    }

    func choice<Value>(_ name: String, of values: [Value]) -> Value? {
        values.isEmpty ? nil : values[Int(number(name, in: 0...Int64(values.count - 1)))]
    }

    /// One step of SplitMix64 (Steele, Lea and Flood, 2014), which makes neighbouring inputs yield unrelated outputs.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// FNV-1a: the same in every process, unlike Swift's own hashes.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

/// The clock of the answering machine at Apple, where it differs from the store's: payloads signed for a request carry
/// its time. It is task-local, because signing happens in many modules.
struct SkewedClock: Sendable {
    @TaskLocal static var current: SkewedClock?

    /// Returns the clock's current error in milliseconds.
    let skew: @Sendable () -> Int64

    /// The time that this clock shows.
    func time(_ instant: Instant) -> Instant { instant.adding(milliseconds: skew()) }

    /// A payload about to be signed, with its signing dates moved to this clock.
    func dated(_ payload: [String: JSONValue]) -> [String: JSONValue] {
        let skew = skew()
        guard skew != 0 else { return payload }
        var payload = payload
        for name in ["signedDate", "receiptCreationDate"] {
            guard let date = payload[name]?.int else { continue }
            payload[name] = .int(Instant(milliseconds: date).adding(milliseconds: skew).milliseconds)
        }
        return payload
    }
}
