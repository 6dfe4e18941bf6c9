import TillBilling
import TillCrypto

/// Disturbs what comes in and what goes out, as the dials say: the same requests in the same order at an endpoint meet
/// the same faults, whatever happens at the others.
///
/// Only dials and seed outlive a restart: counting each request durably would cost a commit each.
final class Chaos: Sendable {
    struct Report: Sendable {
        var settings: FaultSettings?
        var requests: [DisturbedEndpoint: Int64] = [:]
        var struck: [DisturbedEndpoint: [Dial: Int64]] = [:]
    }

    private struct State {
        var report = Report()
        /// Purchases that said who buys.
        var purchases: Int64 = 0
        /// The place of the request that waits for its endpoint's next one.
        var held: [DisturbedEndpoint: UInt64] = [:]
        var late: LateNotification?
        var isStopping = false
    }

    let clock: StoreClock
    let room: WaitingRoom
    private let state: Locked<State>
    /// What wakes `runLateDeliveries`, while there is one.
    let bell = Locked<AsyncStream<Void>.Continuation?>(nil)

    /// - Parameter pause: comes back after so many milliseconds, or at once when the calling task is cancelled. Nil:
    ///   nothing is delayed, and no request is held for the next.
    init(_ settings: FaultSettings?, clock: StoreClock, pause: (@Sendable (Int64) async -> Void)?) {
        self.clock = clock
        room = WaitingRoom(pause: pause)
        var state = State()
        state.report.settings = settings
        self.state = Locked(state)
    }

    var isOn: Bool { state.withLock { $0.report.settings != nil && !$0.isStopping } }

    var report: Report { state.withLock { $0.report } }

    /// Begins again with these; nil ends all disturbance. Whoever is held up goes on.
    func begin(_ settings: FaultSettings?) {
        state.withLock { state in
            state.report = Report(settings: settings)
            state.purchases = 0
            state.held = [:]
        }
        room.letAllGo()
    }

    /// The store is going down: nothing more is disturbed, and nobody is held up any longer.
    func stop() {
        state.withLock { $0.isStopping = true }
        room.letAllGo()
    }

    // MARK: Chance

    /// What is meant for one request.
    struct Fate: Sendable {
        let endpoint: DisturbedEndpoint
        let dials: Dials
        let dice: Dice

        func strikes(_ dial: Dial) -> Bool {
            switch dial {
            // One throw decides both, so that `drop` is the probability of either.
            case .dropBefore: dice.roll("drop") < dials.chance(of: .dropBefore)
            case .dropAfter:
                !strikes(.dropBefore)
                    && dice.roll("drop") < dials.chance(of: .dropBefore) + dials.chance(of: .dropAfter)
            default: dice.roll(dial.rawValue) < dials.chance(of: dial)
            }
        }
    }

    /// What is meant for the next request of an endpoint; nil while nothing is disturbed.
    func draw(_ endpoint: DisturbedEndpoint) -> Fate? {
        state.withLock { state in
            guard let settings = state.report.settings, !state.isStopping else { return nil }
            state.report.requests[endpoint, default: 0] += 1
            let number = state.report.requests[endpoint] ?? 0
            return Fate(
                endpoint: endpoint, dials: settings.dials(of: endpoint),
                dice: Dice(
                    seed: settings.seed, start: settings.start, stream: endpoint.rawValue, number: number))
        }
    }

    /// Counts that a dial struck.
    func count(_ dial: Dial, at endpoint: DisturbedEndpoint) {
        state.withLock { $0.report.struck[endpoint, default: [:]][dial, default: 0] += 1 }
    }

    func skew(of endpoint: DisturbedEndpoint) -> Int64 {
        state.withLock { $0.isStopping ? 0 : $0.report.settings?.dials(of: endpoint).skew ?? 0 }
    }

    // MARK: What the app said

    /// The purchase as it reaches the store: it may have lost who buys on the way (U1). Counted apart from requests,
    /// because an app in this process buys without one.
    func arrived(_ purchase: PurchaseRequest) -> PurchaseRequest {
        guard purchase.appAccountToken != nil else { return purchase }
        let isLost = state.withLock { state in
            guard let settings = state.report.settings, !state.isStopping else { return false }
            state.purchases += 1
            let dial = Dial.lostApplicationUsername
            let dice = Dice(
                seed: settings.seed, start: settings.start, stream: dial.rawValue, number: state.purchases)
            guard dice.roll(dial.rawValue) < settings.dials(of: .purchases).chance(of: dial) else { return false }
            state.report.struck[.purchases, default: [:]][dial, default: 0] += 1
            return true
        }
        guard isLost else { return purchase }
        var purchase = purchase
        purchase.appAccountToken = nil
        return purchase
    }

    // MARK: Order

    /// The request that waits for this one, if any; nobody else waits for it then.
    func takeHeld(at endpoint: DisturbedEndpoint) -> UInt64? {
        state.withLock { $0.held.removeValue(forKey: endpoint) }
    }

    /// A place to wait in for the next request of an endpoint. One waits at each at most: two that wait for each other
    /// would wait for ever.
    func placeToHold(at endpoint: DisturbedEndpoint) -> UInt64? {
        let place = room.takePlace()
        let isMine = state.withLock { state in
            guard state.held[endpoint] == nil, !state.isStopping else { return false }
            state.held[endpoint] = place
            return true
        }
        if !isMine { room.letGo(place) }
        return isMine ? place : nil
    }

    func leave(_ place: UInt64, at endpoint: DisturbedEndpoint) {
        state.withLock { if $0.held[endpoint] == place { $0.held[endpoint] = nil } }
    }

    /// Keeps a notification back for the next one to overtake; false if another is kept already.
    func keep(_ notification: LateNotification) -> Bool {
        state.withLock { state in
            guard state.late == nil, !state.isStopping else { return false }
            state.late = notification
            return true
        }
    }

    /// The notification that is kept back, to be delivered now.
    /// - Parameter orAge: leaves one alone that has not been seen by this before.
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
