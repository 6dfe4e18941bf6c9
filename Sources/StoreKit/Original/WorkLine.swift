import Foundation

/// Work that is done one piece after the other, in the order in which it was handed in.
final class WorkLine: Sendable {
    typealias Work = @Sendable () async -> Void

    private struct Waiting {
        var work: [Work] = []
        var isWorking = false
    }

    private let spawn: @Sendable (@escaping Work) -> Void
    private let waiting = Kept(Waiting())

    init(spawn: @escaping @Sendable (@escaping Work) -> Void) { self.spawn = spawn }

    func add(_ work: @escaping Work) {
        let begins = waiting.with { waiting in
            waiting.work.append(work)
            defer { waiting.isWorking = true }
            return !waiting.isWorking
        }
        if begins { spawn { await self.workOff() } }
    }

    private func workOff() async {
        while let next = take() {
            for work in next { await work() }
        }
    }

    private func take() -> [Work]? {
        waiting.with { waiting in
            let next = waiting.work
            waiting.work = []
            waiting.isWorking = !next.isEmpty
            return next.isEmpty ? nil : next
        }
    }
}
