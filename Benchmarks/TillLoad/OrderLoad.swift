import TillHTTP

/// Brings a running server to a known state with 64 concurrent requests, before or after a measurement.
struct OrderLoad {
    let set: LoadSet
    let url: String

    /// Opens the orders of all proofs.
    func openAll() async throws { try await open(0..<set.proofCount()) }

    /// Opens the orders of some proofs.
    func open(_ numbers: Range<Int>) async throws {
        try await send(numbers) { api, number in await api.openOrder(number).status == 201 }
    }

    /// Posts all proofs; proofs that were posted before are answered accordingly.
    func buyAll() async throws {
        let numbers = 0..<(try set.proofCount())
        let proofs = try set.proofs(numbers)
        try await send(numbers) { api, number in await api.submit(proofs[number]).confirmsGrant }
    }

    private func send(
        _ numbers: Range<Int>, _ request: @escaping @Sendable (ServerAPI, Int) async -> Bool
    ) async throws {
        let fetch = try Fetch()
        let api = ServerAPI(url: url, send: fetch.send)
        let failed = await withTaskGroup(of: Bool.self) { group in
            var waiting = numbers
            var failed = 0
            func start() {
                guard let number = waiting.popFirst() else { return }
                group.addTask { await request(api, number) }
            }
            for _ in 0..<64 { start() }
            while let isDone = await group.next() {
                if !isDone { failed += 1 }
                start()
            }
            return failed
        }
        fetch.stop()
        guard failed == 0 else { throw LoadError("\(failed) of \(numbers.count) requests failed") }
    }
}
