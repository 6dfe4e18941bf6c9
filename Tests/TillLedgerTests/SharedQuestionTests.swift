import Testing
import TillBilling
import TillThreads

@testable import TillLedger

/// Many want to know what Apple says about one purchase.
@Suite("Questions to Apple are shared", .timeLimit(.minutes(1)))
struct SharedQuestionTests {
    private static let subject = SharedQuestions.Subject(environment: .production, id: TransactionID("7"))

    /// The clock, who asked, and what holds an answer back.
    private final class World: Sendable {
        let now = Locked(Instant(seconds: 1_790_000_000))
        let asked = Locked<[String]>([])
        let isOpen = Locked(true)
        let questions: SharedQuestions

        init() { questions = SharedQuestions { [now] in now.withLock { $0 } } }

        func answer(
            _ name: String, _ answer: SignedTransactionLookup.Answer = .none("no"),
            subject: SharedQuestions.Subject = subject, paidAt: Instant? = nil,
            turn: @escaping @Sendable () async -> Bool = { true }
        ) async -> String {
            let told = await questions.answer(about: subject, paidAt: paidAt) { [self] in
                guard await turn() else { return .refused(.later("no turn", not: nil)) }
                return .mine { [self] in
                    asked.withLock { $0.append(name) }
                    while !isOpen.withLock({ $0 }) { await Task.yield() }
                    return answer
                }
            }
            return switch told {
            case .none(let why): why
            case .later(let why, _): why
            case .found: "found"
            }
        }
    }

    /// Until the task is cancelled.
    @Sendable private static func never() async -> Bool {
        while !Task.isCancelled { await Task.yield() }
        return false
    }

    @Test("four hundred who ask at once cost one question, and all hear the answer")
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

    @Test("who waits long for a turn holds up nobody who has one, and hears the other's answer")
    func turns() async {
        let world = World()
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { await world.answer("eve", turn: Self.never) } }
            for _ in 0..<1_000 { await Task.yield() }
            #expect(await world.answer("ann") == "no")
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "no", count: 20))
        #expect(world.asked.withLock { $0 } == ["ann"])
    }

    @Test("who has no turn is told so, unless somebody asks already; that is remembered by nobody")
    func refused() async {
        let world = World()
        #expect(await world.answer("eve", turn: { false }) == "no turn")
        #expect(await world.answer("eve", turn: { false }) == "no turn")
        world.isOpen.withLock { $0 = false }
        let answers = await withTaskGroup(of: String.self) { group in
            group.addTask { await world.answer("ann") }
            while world.asked.withLock({ $0.isEmpty }) { await Task.yield() }
            group.addTask { await world.answer("eve", turn: { false }) }
            for _ in 0..<1_000 { await Task.yield() }
            world.isOpen.withLock { $0 = true }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == ["no", "no"] && world.asked.withLock { $0 } == ["ann"])
    }

    @Test(
        "an answer is remembered for its time, and no longer",
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

    @Test("that Apple does not know what was just paid is remembered for five seconds, after two minutes for sixty")
    func memoryOfNew() async {
        let world = World()
        let paid = world.now.withLock { $0 }
        for (seconds, count) in [(0, 1), (4, 1), (5, 2), (119, 3), (124, 4), (183, 4), (184, 5)] as [(Int64, Int)] {
            world.now.withLock { $0 = paid.adding(seconds: seconds) }
            _ = await world.answer("ann", paidAt: paid)
            #expect(world.asked.withLock { $0.count } == count, "after \(seconds) s")
        }
    }

    @Test("environments are apart, and no more answers are remembered than there is room for")
    func capacity() async {
        let world = World()
        _ = await world.answer("ann")
        _ = await world.answer("ann", subject: .init(environment: .sandbox, id: Self.subject.id))
        #expect(world.asked.withLock { $0.count } == 2)
        for number in 0..<SharedQuestions.capacity {
            world.now.withLock { $0 = $0.adding(milliseconds: 1) }
            _ = await world.answer("eve", subject: .init(environment: .production, id: TransactionID("e\(number)")))
        }
        let before = world.asked.withLock { $0.count }
        _ = await world.answer("ann")
        #expect(world.asked.withLock { $0.count } == before + 1)
        _ = await world.answer("eve", subject: .init(environment: .production, id: TransactionID("e1000")))
        #expect(world.asked.withLock { $0.count } == before + 1)
    }

    @Test("who leaves takes the question along only if it was theirs to ask, and others ask again")
    func cancelled() async {
        let world = World()
        world.isOpen.withLock { $0 = false }
        let leaving = Task { await world.answer("eve", turn: Self.never) }
        for _ in 0..<1_000 { await Task.yield() }
        leaving.cancel()
        #expect(await leaving.value != "no")
        world.isOpen.withLock { $0 = true }
        #expect(await world.answer("ann") == "no")
        #expect(world.asked.withLock { $0 } == ["ann"])
    }

    @Test("while a question is asked nobody else takes a turn for it, and who waits for one leaves the line")
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
