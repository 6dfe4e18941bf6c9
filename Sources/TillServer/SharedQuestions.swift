import TillAppStore
import TillBilling
import TillCrypto

/// Asks Apple about each transaction once at a time, whoever wants to know, and remembers the answer for a while. So a
/// purchase that is posted by many, or many times, costs one question of the quota that all share.
///
/// Everybody waits for a turn under their own name; the first whose turn comes asks, and the answer is everybody's.
final class SharedQuestions: Sendable {
    typealias Answer = SignedTransactionLookup.Answer

    struct Subject: Hashable, Sendable {
        let environment: Environment
        let id: TransactionID
    }

    /// Milliseconds for which an answer is good. That Apple knows no such transaction may change soon after a
    /// purchase; that nobody answered may change at any moment.
    static let (foundMemory, noneMemory, silenceMemory): (Int64, Int64, Int64) = (600_000, 60_000, 5_000)
    /// Answers that are remembered.
    static let capacity = 1_024

    private struct Question {
        /// Whether somebody's turn has come, who asks now.
        var isAsked = false
        var listeners: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
    }

    private struct State {
        var questions: [Subject: Question] = [:]
        var answers: [Subject: (answer: Answer, until: Instant)] = [:]
        var lastNumber: UInt64 = 0
    }

    private let clock: Server.Clock
    private let state = Locked(State())

    init(clock: @escaping Server.Clock) { self.clock = clock }

    private enum Event: Sendable {
        case turn(Turn)
        case heard(Answer?)
    }

    /// What waiting for a turn came to.
    enum Turn: Sendable {
        /// Asks, once.
        case mine(@Sendable () async -> Answer)
        /// There is none for this caller now.
        case refused(Answer)
    }

    /// - Parameter turn: waits for the caller's turn; its task is cancelled when somebody else's answer is there.
    func answer(about subject: Subject, turn: @escaping @Sendable () async -> Turn) async -> Answer {
        if let known = state.withLock({ known(subject, &$0) }) { return known }
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { .heard(await self.hear(subject, isAskedOnly: false)) }
            group.addTask { .turn(await turn()) }
            defer { group.cancelAll() }
            while let event = await group.next() {
                switch event {
                case .heard(nil): continue
                case .heard(let answer?): return answer
                case .turn(.refused(let refusal)): return await hear(subject, isAskedOnly: true) ?? refusal
                case .turn(.mine(let ask)): return await self.ask(subject, ask)
                }
            }
            return .later("cancelled", not: nil)
        }
    }

    /// Unless somebody else asks, or the answer came meanwhile.
    private func ask(_ subject: Subject, _ ask: @Sendable () async -> Answer) async -> Answer {
        while true {
            let (answer, isMine) = state.withLock { state -> (Answer?, Bool) in
                if let known = known(subject, &state) { return (known, false) }
                if state.questions[subject]?.isAsked == true { return (nil, false) }
                state.questions[subject, default: Question()].isAsked = true
                return (nil, true)
            }
            if let answer { return answer }
            if isMine {
                let answer = await ask()
                end(subject, answer, isRemembered: !Task.isCancelled)
                return answer
            }
            if let heard = await hear(subject, isAskedOnly: true) { return heard }
            if Task.isCancelled { return .later("cancelled", not: nil) }
        }
    }

    private func known(_ subject: Subject, _ state: inout State) -> Answer? {
        guard let (answer, until) = state.answers[subject] else { return nil }
        if clock() < until { return answer }
        state.answers[subject] = nil
        return nil
    }

    /// Waits for the answer; nil if the task is cancelled before.
    /// - Parameter isAskedOnly: does not wait for a question that nobody is asking.
    private func hear(_ subject: Subject, isAskedOnly: Bool) async -> Answer? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Answer?, Never>) in
                let answer: Answer?? = state.withLock { state in
                    // Under the lock: a cancellation comes before this line, or finds the listener.
                    if Task.isCancelled { return .some(nil) }
                    if let known = known(subject, &state) { return known }
                    if isAskedOnly, state.questions[subject]?.isAsked != true { return .some(nil) }
                    state.questions[subject, default: Question()].listeners[number] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let listener = state.withLock { state in
                let listener = state.questions[subject]?.listeners.removeValue(forKey: number)
                if let left = state.questions[subject], !left.isAsked, left.listeners.isEmpty {
                    state.questions[subject] = nil
                }
                return listener
            }
            listener?.resume(returning: nil)
        }
    }

    private func end(_ subject: Subject, _ answer: Answer, isRemembered: Bool) {
        let listeners = state.withLock { state in
            if isRemembered { remember(subject, answer, &state) }
            return state.questions.removeValue(forKey: subject)?.listeners.values.map { $0 } ?? []
        }
        for listener in listeners { listener.resume(returning: answer) }
    }

    private func remember(_ subject: Subject, _ answer: Answer, _ state: inout State) {
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
            case .found: Self.foundMemory
            case .none: Self.noneMemory
            case .later: Self.silenceMemory
            }
        state.answers[subject] = (answer, now.adding(milliseconds: memory))
    }
}
