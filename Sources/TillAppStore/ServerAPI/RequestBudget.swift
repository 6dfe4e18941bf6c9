import TillBilling
import TillThreads

/// Keeps every endpoint inside Apple's quota of the app, and shares the quota fairly.
///
/// One budget belongs to one app: all of its requests go through the same one. A budget does not see other processes;
/// processes that share an app divide its quotas by configuration.
///
/// It waits through the pause effect only. Of all callers that wait for one endpoint, one is the leader: it pauses
/// until the next slot is free and hands out slots; when it is served itself, another caller becomes the leader. So no
/// caller polls, and under a virtual clock the order of the calls decides everything.
public final class RequestBudget: Sendable {
    private struct Key: Hashable {
        let endpoint: ServerAPI.Endpoint
        let environment: Environment
    }

    private enum Answer: Sendable {
        case granted
        case refused(ServerAPIFault)
        /// Pause until this time, then hand out slots.
        case lead(until: Instant)
    }

    private struct Room {
        var pace: Pace
        var queue = TurnQueue()
        var sleepers: [UInt64: CheckedContinuation<Answer, Never>] = [:]
        var leader: UInt64?
    }

    private struct State {
        var rooms: [Key: Room] = [:]
        var lastNumber: UInt64 = 0
    }

    private let quotas: RequestQuotas
    private let clock: @Sendable () -> Instant
    private let pause: @Sendable (Int64) async -> Void
    private let waitingLimit: Int
    private let state = Locked(State())

    /// The longest single pause in milliseconds, because the clock may be set during a pause.
    private static let longestPause: Int64 = 30_000
    /// After this many pauses without progress, the clock counts as stopped.
    private static let stallLimit = 10

    /// - Parameter waitingLimit: how many callers may wait for one endpoint. A further caller displaces the last caller
    ///   of the source with the most waiting ones, or is refused at once if that is its own source.
    public init(effects: AppleEffects, quotas: RequestQuotas = RequestQuotas(), waitingLimit: Int = 1_000) {
        self.quotas = quotas
        clock = effects.clock
        pause = effects.pause
        self.waitingLimit = max(waitingLimit, 1)
    }

    /// Returns when one request may be sent. Cancelling the calling task ends the wait.
    ///
    /// - Throws: `overBudget` as soon as it is certain that no slot becomes free within the caller's patience; `outage`
    ///   with `stopped` if the task was cancelled.
    public func turn(
        _ endpoint: ServerAPI.Endpoint, in environment: Environment, for caller: RequestCaller
    ) async throws(ServerAPIFault) {
        let key = Key(endpoint: endpoint, environment: environment)
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        var answer = await sleeping(key, number) { self.enter(key, number, caller, $0) }
        var stalls = 0
        while case .lead(let until) = answer {
            let before = clock()
            await pause(min(max(until.milliseconds - before.milliseconds, 1), Self.longestPause))
            stalls = clock() == before ? stalls + 1 : 0
            answer = lead(key, number, isStalled: stalls >= Self.stallLimit)
        }
        if case .refused(let fault) = answer { throw fault }
    }

    /// Records Apple's 429: no slot before `instant`, or for a minute if Apple stated no time.
    func close(_ endpoint: ServerAPI.Endpoint, in environment: Environment, until instant: Instant?) {
        inRoom(Key(endpoint: endpoint, environment: environment)) { room, now in
            room.pace.close(until: instant ?? now.adding(milliseconds: RetryAfter.unsaid))
        }
    }

    /// The number of callers that wait for a slot of this endpoint.
    public func waiting(for endpoint: ServerAPI.Endpoint, in environment: Environment) -> Int {
        inRoom(Key(endpoint: endpoint, environment: environment)) { room, _ in room.queue.count }
    }

    /// The earliest time at which a request of this endpoint could be sent, if no other caller joins.
    public func nextTurn(of endpoint: ServerAPI.Endpoint, in environment: Environment) -> Instant {
        inRoom(Key(endpoint: endpoint, environment: environment)) { room, now in
            room.pace.earliest(at: now, behind: room.queue.count)
        }
    }

    // MARK: - Waiting

    /// Reads the clock under the lock; otherwise the clock could appear to run backwards between two threads.
    private func inRoom<Result>(_ key: Key, _ body: (inout Room, _ now: Instant) -> Result) -> Result {
        state.withLock { state in
            body(
                &state.rooms[key, default: Room(pace: Pace(quotas[key.endpoint, key.environment]))], clock())
        }
    }

    private func sleeping(
        _ key: Key, _ number: UInt64, _ body: (CheckedContinuation<Answer, Never>) -> Void
    ) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation(body)
        } onCancel: {
            leave(key, number)
        }
    }

    private func enter(
        _ key: Key, _ number: UInt64, _ caller: RequestCaller, _ continuation: CheckedContinuation<Answer, Never>
    ) {
        let answers: [(CheckedContinuation<Answer, Never>, Answer)] = inRoom(key) { room, now in
            // Under the lock, a cancellation either precedes this line or finds the waiting continuation.
            if Task.isCancelled { return [(continuation, .refused(Self.cancelled))] }
            let next = room.pace.next(at: now)
            if room.queue.isEmpty, next <= now {
                room.pace.take(at: now)
                return [(continuation, .granted)]
            }
            let earliest = room.pace.earliest(at: now, behind: room.queue.ahead(of: caller))
            let deadline = now.adding(milliseconds: caller.patience)
            let refused = Answer.refused(.overBudget(until: earliest))
            if earliest > deadline { return [(continuation, refused)] }
            var others: [(CheckedContinuation<Answer, Never>, Answer)] = []
            if room.queue.count >= waitingLimit {
                guard let sleeper = Self.crowdOut(for: caller, &room) else { return [(continuation, refused)] }
                others.append((sleeper, refused))
            }
            room.queue.append(TurnQueue.Waiter(number: number, caller: caller, deadline: deadline))
            guard room.leader != nil else {
                room.leader = number
                return others + [(continuation, .lead(until: next))]
            }
            room.sleepers[number] = continuation
            return others
        }
        for (continuation, answer) in answers { continuation.resume(returning: answer) }
    }

    /// Displaces a waiting caller to make room for another, and returns its continuation; nil if no source has more
    /// waiting callers than this caller's own.
    private static func crowdOut(
        for caller: RequestCaller, _ room: inout Room
    ) -> CheckedContinuation<Answer, Never>? {
        guard let number = room.queue.crowdedOut(by: caller, except: room.leader),
            let sleeper = room.sleepers.removeValue(forKey: number)
        else { return nil }
        _ = room.queue.remove { $0.number == number }
        return sleeper
    }

    /// Called after the leader's pause: hands out the free slots, and refuses callers whose patience ended.
    private func lead(_ key: Key, _ number: UInt64, isStalled: Bool) -> Answer {
        let isCancelled = Task.isCancelled
        let (mine, others) = inRoom(key) { room, now in
            var settled: [(number: UInt64, answer: Answer)] = []
            if isCancelled || isStalled {
                let fault = isCancelled ? Self.cancelled : .overBudget(until: room.pace.next(at: now))
                settled += room.queue.remove { $0.number == number }.map { ($0.number, .refused(fault)) }
            }
            // Slots first: a pause may end late, and no caller is refused for that while a slot is free.
            while room.pace.next(at: now) <= now, let waiter = room.queue.next() {
                room.pace.take(at: now)
                settled.append((waiter.number, .granted))
            }
            let next = room.pace.next(at: now)
            settled += room.queue.remove { $0.deadline < now }.map { ($0.number, .refused(.overBudget(until: next))) }
            return Self.sorted(settled, leader: number, &room, now: now)
        }
        for (continuation, answer) in others { continuation.resume(returning: answer) }
        return mine
    }

    /// Separates the leader's answer from the others', and appoints another leader if this one is served or refused.
    private static func sorted(
        _ settled: [(number: UInt64, answer: Answer)], leader: UInt64, _ room: inout Room, now: Instant
    ) -> (Answer, [(CheckedContinuation<Answer, Never>, Answer)]) {
        var mine: Answer?
        var others: [(CheckedContinuation<Answer, Never>, Answer)] = []
        for (number, answer) in settled {
            if number == leader {
                mine = answer
            } else if let sleeper = room.sleepers.removeValue(forKey: number) {
                others.append((sleeper, answer))
            }
        }
        let wake = wakeTime(&room, now: now)
        guard let mine else { return (.lead(until: wake), others) }
        room.leader = room.queue.someone
        if let next = room.leader, let sleeper = room.sleepers.removeValue(forKey: next) {
            others.append((sleeper, .lead(until: wake)))
        }
        return (mine, others)
    }

    private static func wakeTime(_ room: inout Room, now: Instant) -> Instant {
        let next = room.pace.next(at: now)
        guard let deadline = room.queue.earliestDeadline else { return next }
        return min(next, deadline.adding(milliseconds: 1))
    }

    /// Called when a waiting caller's task is cancelled. The leader notices a cancellation itself, because its pause
    /// ends.
    private func leave(_ key: Key, _ number: UInt64) {
        let sleeper = inRoom(key) { room, _ in
            let sleeper = room.sleepers.removeValue(forKey: number)
            if sleeper != nil { _ = room.queue.remove { $0.number == number } }
            return sleeper
        }
        sleeper?.resume(returning: .refused(Self.cancelled))
    }

    private static let cancelled = ServerAPIFault.outage(
        AppleOutage(.stopped, "cancelled while waiting for a turn"))
}
