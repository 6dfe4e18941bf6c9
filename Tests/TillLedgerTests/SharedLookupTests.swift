import Testing
import TillBilling
import TillThreads

@testable import TillLedger

/// Many callers need Apple's statement about one purchase.
@Suite("Requests to Apple are shared", .timeLimit(.minutes(1)))
struct SharedQuestionTests {
    private static let subject = SharedLookups.Subject(environment: .production, id: TransactionID("7"))

    /// The clock, the callers that asked, and the gate that holds an answer back.
    private final class World: Sendable {
        let now = Locked(Instant(seconds: 1_790_000_000))
        let asked = Locked<[String]>([])
        let isOpen = Locked(true)
        let questions: SharedLookups

        init() { questions = SharedLookups { [now] in now.withLock { $0 } } }

        func answer(
            _ name: String, _ answer: SignedTransactionLookup.Answer = .none("no"),
            subject: SharedLookups.Subject = subject, paidAt: Instant? = nil,
            admission: @escaping @Sendable () async -> Bool = { true }
        ) async -> String {
            let reported = await questions.answer(about: subject, paidAt: paidAt) { [self] in
                guard await admission() else { return .refused(.later("no turn", not: nil)) }
                return .mine { [self] in
                    asked.withLock { $0.append(name) }
                    while !isOpen.withLock({ $0 }) { await Task.yield() }
                    return answer
                }
            }
            return switch reported {
            case .none(let why): why
            case .later(let why, _): why
            case .found: "found"
            case .stated: "stated"
            case .refused(let why, _): why
            }
        }
    }

    /// Runs until the task is cancelled.
    @Sendable private static func never() async -> Bool {
        while !Task.isCancelled { await Task.yield() }
        return false
    }

    @Test("Four hundred callers at once cost one request, and all get its answer")
    func once() async {
        let world = World()
        world.isOpen.withLock { $0 = false }
        let answers = await withTaskGroup(of: String.self) { group in
            for number in 0..<400 { group.addTask { await world.answer("\(number)") } }
            while world.asked.withLock({ $0.isEmpty }) { await Task.yield() }
            for _ in 0..<1_000 { await Task.yield() }
            world.isOpen.withLock { $0 = true }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "no", count: 400))
        #expect(world.asked.withLock { $0.count } == 1)
        #expect(await world.answer("later") == "no" && world.asked.withLock { $0.count } == 1)
    }

    @Test("A caller that waits long for a turn delays no caller that has one, and gets that caller's answer")
    func turns() async {
        let world = World()
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { await world.answer("eve", admission: Self.never) } }
            for _ in 0..<1_000 { await Task.yield() }
            #expect(await world.answer("ann") == "no")
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "no", count: 20))
        #expect(world.asked.withLock { $0 } == ["ann"])
    }

    @Test("A caller without a turn is refused, unless a request is in progress; the refusal is not cached")
    func refused() async {
        let world = World()
        #expect(await world.answer("eve", admission: { false }) == "no turn")
        #expect(await world.answer("eve", admission: { false }) == "no turn")
        world.isOpen.withLock { $0 = false }
        let answers = await withTaskGroup(of: String.self) { group in
            group.addTask { await world.answer("ann") }
            while world.asked.withLock({ $0.isEmpty }) { await Task.yield() }
            group.addTask { await world.answer("eve", admission: { false }) }
            for _ in 0..<1_000 { await Task.yield() }
            world.isOpen.withLock { $0 = true }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == ["no", "no"] && world.asked.withLock { $0 } == ["ann"])
    }

    @Test(
        "An answer is cached for its time, and no longer",
        arguments: [(SignedTransactionLookup.Answer.none("no"), 60), (.later("busy", not: nil), 5)]
            as [(SignedTransactionLookup.Answer, Int64)])
    func memory(answer: SignedTransactionLookup.Answer, seconds: Int64) async {
        let world = World()
        for _ in 0..<10 { _ = await world.answer("ann", answer) }
        #expect(world.asked.withLock { $0.count } == 1)
        world.now.withLock { $0 = $0.adding(milliseconds: seconds * 1_000 - 1) }
        _ = await world.answer("ann", answer)
        #expect(world.asked.withLock { $0.count } == 1)
        world.now.withLock { $0 = $0.adding(milliseconds: 1) }
        _ = await world.answer("ann", answer)
        #expect(world.asked.withLock { $0.count } == 2)
    }

    @Test("Apple's not-found for a new purchase is cached for five seconds, after two minutes for sixty")
    func memoryOfNew() async {
        let world = World()
        let paid = world.now.withLock { $0 }
        for (seconds, count) in [(0, 1), (4, 1), (5, 2), (119, 3), (124, 4), (183, 4), (184, 5)] as [(Int64, Int)] {
            world.now.withLock { $0 = paid.adding(seconds: seconds) }
            _ = await world.answer("ann", paidAt: paid)
            #expect(world.asked.withLock { $0.count } == count, "after \(seconds) s")
        }
    }

    @Test("Environments are separate, and the number of cached answers is bounded")
    func capacity() async {
        let world = World()
        _ = await world.answer("ann")
        _ = await world.answer("ann", subject: .init(environment: .sandbox, id: Self.subject.id))
        #expect(world.asked.withLock { $0.count } == 2)
        for number in 0..<SharedLookups.capacity {
            world.now.withLock { $0 = $0.adding(milliseconds: 1) }
            _ = await world.answer("eve", subject: .init(environment: .production, id: TransactionID("e\(number)")))
        }
        let before = world.asked.withLock { $0.count }
        _ = await world.answer("ann")
        #expect(world.asked.withLock { $0.count } == before + 1)
        _ = await world.answer("eve", subject: .init(environment: .production, id: TransactionID("e1000")))
        #expect(world.asked.withLock { $0.count } == before + 1)
    }

    @Test("A caller that leaves cancels the request only if it made the request, and other callers ask again")
    func cancelled() async {
        let world = World()
        world.isOpen.withLock { $0 = false }
        let leaving = Task { await world.answer("eve", admission: Self.never) }
        for _ in 0..<1_000 { await Task.yield() }
        leaving.cancel()
        #expect(await leaving.value != "no")
        world.isOpen.withLock { $0 = true }
        #expect(await world.answer("ann") == "no")
        #expect(world.asked.withLock { $0 } == ["ann"])
    }

    @Test("While a request is in progress no other caller takes a turn for it, and waiting callers leave the queue")
    func noTurns() async {
        let world = World()
        world.isOpen.withLock { $0 = false }
        let (turns, waiting) = (Locked(0), Locked(0))
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await world.answer("eve") {
                        waiting.withLock { $0 += 1 }
                        defer { waiting.withLock { $0 -= 1 } }
                        return await Self.never()
                    }
                }
            }
            while waiting.withLock({ $0 < 20 }) { await Task.yield() }
            group.addTask { await world.answer("ann") }
            while world.asked.withLock({ $0.isEmpty }) { await Task.yield() }
            for _ in 0..<50 {
                group.addTask {
                    await world.answer("eve") {
                        turns.withLock { $0 += 1 }
                        return true
                    }
                }
            }
            for _ in 0..<10_000 { await Task.yield() }
            #expect(waiting.withLock { $0 } == 0)
            world.isOpen.withLock { $0 = true }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "no", count: 71))
        #expect(turns.withLock { $0 } == 0 && world.asked.withLock { $0 } == ["ann"])
    }
}
