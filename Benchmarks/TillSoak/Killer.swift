import TillTestDatabases

/// Kills the server, its database and the store at random, and restarts them, sometimes with a delay.
struct Killer: Sendable {
    let server: SupervisedProgram
    let store: SupervisedProgram
    /// The ledger's, if it is on PostgreSQL.
    let cluster: PostgresCluster?
    let tally: Tally
    let seed: UInt64
    /// The length of the whole chaos: a short one has shorter outages.
    let length: Duration

    func run(until deadline: ContinuousClock.Instant) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await killServer(until: deadline) }
            group.addTask { try await killStore(until: deadline) }
            group.addTask {
                while ContinuousClock.now < deadline, !Task.isCancelled {
                    server.look()
                    store.look()
                    try await Task.sleep(for: .seconds(1))
                }
            }
            try await group.waitForAll()
        }
    }

    private func killServer(until deadline: ContinuousClock.Instant) async throws {
        var random = SeededRandom(seed: seed, player: "killer of the server")
        var ofDatabase = SeededRandom(seed: seed, player: "killer of the database")
        while try await rest(random.duration(5...40), until: deadline) {
            if let cluster, tally.all(.kills)["database"] == nil || ofDatabase.occurs(0.5) {
                try await kill(cluster, &ofDatabase, until: deadline)
                if ofDatabase.occurs(0.6) { continue }
            }
            await server.kill()
            if random.occurs(0.12) {
                tally.add(.faults, "server away for long")
                _ = try await rest(min(.seconds(60), length / 6), until: deadline)
            } else if random.occurs(0.3) {
                _ = try await rest(random.duration(0.5...5), until: deadline)
            }
            while random.occurs(0.2) { try await server.killAtStart(after: random.duration(0...0.4)) }
            try await server.start()
        }
    }

    /// Kills the database under the running server, and now and then the server while it is away. A server is not
    /// started without its database: it would end, as it should.
    private func kill(
        _ cluster: PostgresCluster, _ random: inout SeededRandom, until deadline: ContinuousClock.Instant
    ) async throws {
        try await cluster.kill()
        tally.add(.kills, "database")
        if random.occurs(0.5) { _ = try await rest(random.duration(0.2...5), until: deadline) }
        let isAlone = random.occurs(0.7)
        if !isAlone { await server.kill() }
        try await cluster.start()
        tally.add(.restarts, "database")
        if isAlone { try await server.recover() } else { try await server.start() }
    }

    private func killStore(until deadline: ContinuousClock.Instant) async throws {
        var random = SeededRandom(seed: seed, player: "killer of the store")
        let longest = min(180, Double((length / 3).components.seconds))
        while try await rest(random.duration(longest / 3...longest), until: deadline) {
            await store.kill()
            if random.occurs(0.3) { _ = try await rest(random.duration(0.5...8), until: deadline) }
            try await store.start()
        }
    }

    /// - Returns: whether time is left afterwards.
    private func rest(_ time: Duration, until deadline: ContinuousClock.Instant) async throws -> Bool {
        try await Task.sleep(for: min(time, max(.zero, deadline - .now)))
        return ContinuousClock.now < deadline
    }
}
