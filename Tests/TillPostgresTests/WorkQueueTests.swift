import Testing
import TillThreads

@testable import TillPostgres

/// Pauses are so long that a test which needs one to end never does.
@Suite("The queue of waiting bodies", .timeLimit(.minutes(1))) struct WorkQueueTests {
    private static let gathering = WorkQueue<Int>.Gathering(pause: 3_600_000, pauses: 1)

    private func fill(_ queue: WorkQueue<Int>, _ numbers: ClosedRange<Int>) {
        for number in numbers { #expect(queue.add(number) == nil) }
    }

    @Test("A body that comes alone is not kept waiting, nor is the first of many")
    func alone() {
        let queue = WorkQueue<Int>(limit: 10)
        for number in 1...3 {
            fill(queue, number...number)
            #expect(queue.take(atMost: 4, Self.gathering) == [number])
        }
        fill(queue, 4...6)
        #expect(queue.take(atMost: 4, Self.gathering) == [4, 5, 6])
    }

    @Test("While many bodies come at once, a commit takes as many as it may, and other connections leave them to it")
    func gathering() async {
        let queue = WorkQueue<Int>(limit: 100)
        fill(queue, 1...2)
        #expect(queue.take(atMost: 4, Self.gathering) == [1, 2])
        fill(queue, 3...3)
        let taken = Locked<[[Int]]>([])
        let threads = (0..<2).compactMap { _ in
            SystemThread {
                let numbers = queue.take(atMost: 4, Self.gathering)
                taken.withLock { $0.append(numbers) }
            }
        }
        fill(queue, 4...6)
        while taken.withLock({ $0.isEmpty }) { await Task.yield() }
        #expect(taken.withLock { $0 } == [[3, 4, 5, 6]])
        queue.close()
        for thread in threads { thread.join() }
        #expect(taken.withLock { $0 } == [[3, 4, 5, 6], []])
    }

    @Test("A commit goes on without further bodies when none comes for a pause, and when the queue is closed")
    func pauses() {
        let queue = WorkQueue<Int>(limit: 100)
        let brief = WorkQueue<Int>.Gathering(pause: 1, pauses: 3)
        fill(queue, 1...2)
        #expect(queue.take(atMost: 4, brief) == [1, 2])
        fill(queue, 3...3)
        #expect(queue.take(atMost: 4, brief) == [3])
        fill(queue, 4...5)
        #expect(queue.take(atMost: 4, brief) == [4, 5])
        fill(queue, 6...6)
        queue.close()
        #expect(queue.take(atMost: 4, Self.gathering) == [6])
        #expect(queue.take(atMost: 4, Self.gathering).isEmpty)
    }
}
