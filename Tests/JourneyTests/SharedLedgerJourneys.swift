import Foundation
import Glibc
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillTestDatabases

/// Two `till serve` as processes on one database of PostgreSQL.
@Suite("Several servers on one ledger, as processes", .serialized, .enabled(if: PostgresCluster.isInstalled))
struct SharedLedgerJourneys {
    private func withServers(_ journey: (ServerProcess, LedgerPlace) async throws -> Void) async throws {
        try await withLedgerPlace(on: .postgres) { place in
            try await ServerProcess.withFiles { files in
                try files.configure("database", .string(place.address))
                try await journey(files, place)
            }
        }
    }

    private func leases(_ process: TillProcess) throws -> [String] {
        try process.logLines.compactMap { $0["event"]?.string }.filter { $0.hasPrefix("lease_") }
    }

    private func eventually(within seconds: Int, _ condition: () throws -> Bool) async throws -> Bool {
        for _ in 0..<(seconds * 50) {
            if try condition() { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    @Test("A purchase posted to both servers is granted once, and each shows what the other granted")
    func purchases() async throws {
        try await withServers { files, _ in
            let (first, second) = (try await files.start(), try await files.start())
            for number in 0..<4 {
                let port = number.isMultiple(of: 2) ? first.port : second.port
                try await files.buy(port, as: "u\(number)")
            }
            for number in 0..<4 {
                let replies = [
                    try await files.send(first.port, .get, "/v1/users/u\(number)/wallet"),
                    try await files.send(second.port, .get, "/v1/users/u\(number)/wallet"),
                ]
                #expect(replies.allSatisfy { $0.status == 200 })
                #expect(replies[0].body == replies[1].body)
            }
            // The same payment to both at once, ten times.
            for number in 0..<10 {
                let user = Party.user("twice\(number)")
                let opened = try await files.send(
                    first.port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: user)
                let payment = try await files.pay(token: UniqueID(opened["id"].text))
                let body: JSONValue = ["signedTransaction": .string(payment.signed)]
                async let one = files.send(first.port, .post, "/v1/transactions", body, as: user)
                async let two = files.send(second.port, .post, "/v1/transactions", body, as: user)
                let outcomes = [try await one, try await two].map { $0["outcome"].text }.sorted()
                #expect(outcomes == ["alreadyGranted", "granted"])
                let wallet = try await files.send(second.port, .get, "/v1/users/twice\(number)/wallet")
                #expect(wallet["balances"].at("points").int == 60)
            }
            for process in [first.process, second.process] {
                process.send(SIGTERM)
                #expect(await process.end() == 0, "\(process.complaints)")
            }
        }
    }

    @Test("When the server that runs the jobs is killed, stopped or frozen, the other one goes on", .slow)
    func takeover() async throws {
        try await withServers { files, _ in
            var leader = try await files.start()
            #expect(try await eventually(within: 10) { try leases(leader.process) == ["lease_taken"] })
            var other = try await files.start()
            try await files.buy(other.port, as: "ann")
            // Killed: the other one waits until the lease was not renewed for fifteen seconds.
            leader.process.send(SIGKILL)
            #expect(try await eventually(within: 40) { try leases(other.process) == ["lease_taken"] })
            try await files.buy(other.port, as: "bob")
            // Stopped: it gives the lease up, and a waiting server takes it at its next look.
            (leader, other) = (other, try await files.start())
            leader.process.send(SIGTERM)
            #expect(await leader.process.end() == 0, "\(leader.process.complaints)")
            #expect(try leases(leader.process) == ["lease_taken", "lease_released"])
            #expect(try await eventually(within: 20) { try leases(other.process) == ["lease_taken"] })
            // Frozen: the other one takes over, and the first says so when it wakes.
            (leader, other) = (other, try await files.start())
            leader.process.send(SIGSTOP)
            #expect(try await eventually(within: 40) { try leases(other.process) == ["lease_taken"] })
            leader.process.send(SIGCONT)
            #expect(try await eventually(within: 20) { try leases(leader.process) == ["lease_taken", "lease_lost"] })
            #expect(try await files.send(leader.port, .get, "/readyz").status == 200, "it goes on to serve")
            for process in [leader.process, other.process] {
                process.send(SIGTERM)
                #expect(await process.end() == 0, "\(process.complaints)")
            }
        }
    }

    @Test("A server that hands over leaves the jobs to its successor at once, without a failed request")
    func handOver() async throws {
        try await withServers { files, _ in
            let (process, port) = try await files.start()
            #expect(try await eventually(within: 10) { try leases(process) == ["lease_taken"] })
            process.send(SIGUSR2)
            let next = try await files.nextProcess(of: process)
            #expect(next.port == port)
            #expect(await process.end() == 0, "\(process.complaints)")
            try await files.buy(port, as: "carl")
            kill(next.id, SIGTERM)
        }
    }

    @Test("A database that is gone is 503 with Retry-After on every route, and the server recovers by itself")
    func unreachable() async throws {
        try await withServers { files, place in
            let (process, port) = try await files.start()
            try await files.buy(port, as: "dora")
            let session = try #require(try place.session())
            let name = try session.run("SELECT current_database()")[0][0] ?? ""
            let admin = try PostgresCluster.running().session()
            try admin.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
            try admin.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
            var refused: Reply?
            for _ in 0..<200 where refused == nil {
                let reply = try await files.send(port, .get, "/readyz")
                if reply.status == 503 { refused = reply } else { try await Task.sleep(for: .milliseconds(50)) }
            }
            #expect(refused?.headers["Retry-After"] != nil && refused?["status"].text == "not_ready")
            let order: JSONValue = ["userId": "eve", "productId": .string(Shop.points60), "quantity": 1]
            for (method, path, body) in [
                (.post, "/v1/orders", order), (.get, "/v1/users/dora/wallet", nil),
                (.get, "/v1/events", nil),
            ] as [(HTTPMethod, String, JSONValue?)] {
                let reply = try await files.send(port, method, path, body)
                #expect(reply.status == 503 && reply.headers["Retry-After"] != nil, "\(path) \(reply.status)")
            }
            try admin.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
            var isBack = false
            for _ in 0..<400 where !isBack {
                isBack = try await files.send(port, .get, "/readyz").status == 200
                if !isBack { try await Task.sleep(for: .milliseconds(50)) }
            }
            #expect(isBack)
            try await files.buy(port, as: "eve")
            process.send(SIGTERM)
            #expect(await process.end() == 0, "\(process.complaints)")
        }
    }
}
