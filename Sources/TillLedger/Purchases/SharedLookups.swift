import TillAppStore
import TillBilling
import TillThreads

/// Asks Apple about each transaction only once at a time, for all callers, and caches the answer. So a purchase that is
/// posted many times costs one request of the shared quota.
///
/// Each caller waits for its own turn. The first caller whose turn comes sends the request, and all waiting callers
/// receive its answer; the others then give up their turns.
final class SharedLookups: Sendable {
    typealias Answer = SignedTransactionLookup.Answer

    struct Subject: Hashable, Sendable {
        let environment: StoreEnvironment
        let id: TransactionID
        /// The digest of the receipt, if Apple is asked about a receipt and not about a transaction.
        var receipt: [UInt8]?
    }

    /// Milliseconds for which an answer is cached. A missing answer is cached briefly, because Apple may answer again
    /// at any moment.
    static let (foundMemory, noneMemory, noResponseMemory): (Int64, Int64, Int64) = (600_000, 60_000, 5_000)
    /// Milliseconds after a purchase in which Apple may learn of it at any moment.
    static let newness: Int64 = 120_000
    /// The number of cached answers.
    static let capacity = 1_024

    private struct PendingLookup {
        /// Whether a caller's turn has come and its request is under way.
        var isAsked = false
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct Waiter {
        let continuation: CheckedContinuation<WaitResult, Never>
        /// Whether the listener also waits for its own turn.
        let awaitsAdmission: Bool
    }

    private enum WaitResult: Sendable {
        case answer(Answer)
        /// A caller's request has begun.
        case begun
        /// No request is under way, or the task is cancelled.
        case nothing
    }

    private struct State {
        var pendingLookups: [Subject: PendingLookup] = [:]
        var answers: [Subject: (answer: Answer, until: Instant)] = [:]
        var lastNumber: UInt64 = 0
    }

    private let clock: Ledger.Clock
    private let state = Locked(State())

    init(clock: @escaping Ledger.Clock) { self.clock = clock }

    private enum Event: Sendable {
        case admission(Admission)
        case waited(WaitResult)
    }

    /// The result of waiting for a turn.
    enum Admission: Sendable {
        /// Sends the request, once.
        case mine(@Sendable () async -> Answer)
        /// This caller gets no turn now.
        case refused(Answer)
    }

    /// - Parameters:
    ///   - paidAt: the purchase date, if known.
    ///   - turn: waits for the caller's turn; its task is cancelled when another caller sends the request.
    func answer(
        about subject: Subject, paidAt: Instant? = nil, admission: @escaping @Sendable () async -> Admission
    ) async -> Answer {
        while !Task.isCancelled {
            if let known = state.withLock({ known(subject, &$0) }) { return known }
            if case .answer(let answer) = await wait(subject, isAskedOnly: true) { return answer }
            if let answer = await requestOrWait(subject, paidAt, admission) { return answer }
        }
        return .later("cancelled", not: nil)
    }

    /// Nil if another caller sends the request.
    private func requestOrWait(
        _ subject: Subject, _ paidAt: Instant?, _ admission: @escaping @Sendable () async -> Admission
    ) async -> Answer? {
        await withTaskGroup(of: Event.self) { group in
            group.addTask { .waited(await self.wait(subject, isAskedOnly: false)) }
            group.addTask { .admission(await admission()) }
            defer { group.cancelAll() }
            while let event = await group.next() {
                switch event {
                case .waited(.nothing): continue
                case .waited(.begun): return nil
                case .waited(.answer(let answer)): return answer
                case .admission(.refused(let refusal)):
                    if case .answer(let answer) = await wait(subject, isAskedOnly: true) { return answer }
                    return refusal
                case .admission(.mine(let ask)): return await self.ask(subject, paidAt, ask)
                }
            }
            return nil
        }
    }

    /// Sends the request, unless another caller does or the answer has arrived meanwhile.
    private func ask(_ subject: Subject, _ paidAt: Instant?, _ ask: @Sendable () async -> Answer) async -> Answer {
        while true {
            let (answer, isMine, waiting) = state.withLock { state -> (Answer?, Bool, [Waiter]) in
                if let known = known(subject, &state) { return (known, false, []) }
                if state.pendingLookups[subject]?.isAsked == true { return (nil, false, []) }
                return (nil, true, begin(subject, &state))
            }
            if let answer { return answer }
            if isMine {
                for listener in waiting { listener.continuation.resume(returning: .begun) }
                let answer = await ask()
                end(subject, answer, paidAt, isRemembered: !Task.isCancelled)
                return answer
            }
            if case .answer(let answer) = await wait(subject, isAskedOnly: true) { return answer }
            if Task.isCancelled { return .later("cancelled", not: nil) }
        }
    }

    /// - Returns: the listeners that no longer need their turn.
    private func begin(_ subject: Subject, _ state: inout State) -> [Waiter] {
        var question = state.pendingLookups[subject] ?? PendingLookup()
        let waiting = question.waiters.filter(\.value.awaitsAdmission)
        for number in waiting.keys { question.waiters[number] = nil }
        question.isAsked = true
        state.pendingLookups[subject] = question
        return Array(waiting.values)
    }

    private func known(_ subject: Subject, _ state: inout State) -> Answer? {
        guard let (answer, until) = state.answers[subject] else { return nil }
        if clock() < until { return answer }
        state.answers[subject] = nil
        return nil
    }

    /// Waits for the answer.
    /// - Parameter isAskedOnly: true returns at once if no request is under way; false waits until one begins.
    private func wait(_ subject: Subject, isAskedOnly: Bool) async -> WaitResult {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<WaitResult, Never>) in
                let waited: WaitResult? = state.withLock { state in
                    // Checked under the lock: a cancellation either comes before this line or finds the listener.
                    if Task.isCancelled { return .nothing }
                    if let known = known(subject, &state) { return .answer(known) }
                    let isAsked = state.pendingLookups[subject]?.isAsked == true
                    if isAsked != isAskedOnly { return isAsked ? .begun : .nothing }
                    state.pendingLookups[subject, default: PendingLookup()].waiters[number] = Waiter(
                        continuation: continuation, awaitsAdmission: !isAskedOnly)
                    return nil
                }
                if let waited { continuation.resume(returning: waited) }
            }
        } onCancel: {
            let listener = state.withLock { state in
                let listener = state.pendingLookups[subject]?.waiters.removeValue(forKey: number)
                if let left = state.pendingLookups[subject], !left.isAsked, left.waiters.isEmpty {
                    state.pendingLookups[subject] = nil
                }
                return listener
            }
            listener?.continuation.resume(returning: .nothing)
        }
    }

    private func end(_ subject: Subject, _ answer: Answer, _ paidAt: Instant?, isRemembered: Bool) {
        let waiters = state.withLock { state in
            if isRemembered { remember(subject, answer, paidAt, &state) }
            return state.pendingLookups.removeValue(forKey: subject)?.waiters.values.map { $0 } ?? []
        }
        for listener in waiters { listener.continuation.resume(returning: .answer(answer)) }
    }

    private func remember(_ subject: Subject, _ answer: Answer, _ paidAt: Instant?, _ state: inout State) {
        let now = clock()
        if state.answers.count >= Self.capacity {
            state.answers = state.answers.filter { now < $0.value.until }
            if state.answers.count >= Self.capacity,
                let first = state.answers.min(by: { $0.value.until < $1.value.until })
            {
                state.answers[first.key] = nil
            }
        }
        let memory =
            switch answer {
            case .found, .stated: Self.foundMemory
            case .refused: Self.noneMemory
            case .none where paidAt.map { now.milliseconds - $0.milliseconds < Self.newness } ?? false:
                Self.noResponseMemory
            case .none: Self.noneMemory
            case .later: Self.noResponseMemory
            }
        state.answers[subject] = (answer, now.adding(milliseconds: memory))
    }
}
