import Foundation
import TillAppStore
import TillCrypto

/// Measures the time until a purchase is granted under *save then finish* with an In-App Purchase Key: without load,
/// while an attacker posts one receipt four hundred times, and with a hundred and fifty connections that send nothing
/// or send slowly. The emulated store answers after a tenth of a second. Ends by itself.
struct QueueLoad {
    let till: String
    /// The number of measured purchases of each kind.
    let rounds: Int

    static let posts = 400
    static let connections = 150
    private static let width = 16

    /// Reports for each kind: its name, milliseconds to a grant (median, maximum), the median as a multiple of the one
    /// without load, and the number of requests to the store in that time.
    func report() async throws -> String {
        let world = try await QueueWorld(till: till)
        do {
            let text = try await measure(in: world)
            try await world.close()
            return text
        } catch {
            try? await world.close()
            throw error
        }
    }

    private struct Kind {
        let name: String
        let times: [Double]
        let questions: Int

        var median: Double { times.sorted()[times.count / 2] }

        func line(quiet: Kind) -> String {
            String(
                format: "%@ %.0f %.0f %.2f %d", name, median, times.max() ?? 0, median / quiet.median, questions)
        }
    }

    private func measure(in world: QueueWorld) async throws -> String {
        // The first purchase fills the signer cache and the database's caches.
        _ = try await world.buy()
        let quiet = try await kind("quiet", world) { _ in }
        let kinds = [
            quiet,
            try await kind("one-thief", world) { try await flood(world, $0) { _ in "thief" } },
            try await kind("forty-thieves", world) { try await flood(world, $0) { "thief-\($0 % 40)" } },
            try await held("idle-connections", world, SlowConnections(world.port, addresses: 1, sends: false)),
            try await held("slow-connections", world, SlowConnections(world.port, addresses: 10, sends: true)),
        ]
        return kinds.map { $0.line(quiet: quiet) }.joined(separator: "\n")
    }

    /// - Parameter burden: starts before each purchase, which follows within a second, and is awaited after it.
    private func kind(
        _ name: String, _ world: QueueWorld, _ burden: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Kind {
        var times: [Double] = []
        let before = world.questions
        for round in 0..<rounds {
            async let burdened: Void = burden(round)
            // The server grants once a second, so purchases are spread over that second.
            try await Task.sleep(for: .milliseconds(1_000 * round / rounds))
            times.append(try await world.buy())
            try await burdened
        }
        return Kind(name: name, times: times, questions: world.questions - before)
    }

    private func held(_ name: String, _ world: QueueWorld, _ connections: SlowConnections) async throws -> Kind {
        connections.start(count: Self.connections)
        defer { connections.stop() }
        try await Task.sleep(for: .milliseconds(500))
        return try await kind(name, world) { _ in }
    }

    /// Posts one receipt with a different device each time; returns when all requests are answered.
    private func flood(
        _ world: QueueWorld, _ round: Int, as user: @escaping @Sendable (Int) -> String
    ) async throws {
        let stolen = try await world.pay(token: UUID().uuidString.lowercased())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<Self.posts {
                if number >= Self.width { try await group.next() }
                group.addTask {
                    let body = """
                        {"receipt":"\(stolen.receipt)","transactionId":"\(stolen.id)",\
                        "productId":"\(LoadSet.productID)","deviceId":"device-\(number)"}
                        """
                    // Refused requests (503: too many at once) count as posted.
                    _ = await world.post("/v1/transactions", body, as: user(number))
                }
            }
            try await group.waitForAll()
        }
    }
}
