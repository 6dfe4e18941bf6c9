import Foundation
import TillCrypto
import TillSimulation

/// How long a server on a ledger with many older purchases takes to start, and to answer a customer with ten thousand
/// purchases and an operator; and its memory afterwards. Each request is made alone.
struct OldLedgerReads {
    let set: LoadSet
    let till: String
    /// The ledger.
    let database: String

    private static let operatorToken = "op_load_0123456789abcdef0123456789abcdef"
    private static let repetitions = 20
    /// The first answer of a kind reads pages that no cache has.
    private static let names = ["first", "median", "longest"]

    func lines() throws -> String {
        let user = AgedLedger.firstCustomer
        let reads = [
            ("wallet", "/v1/users/\(user)/wallet"), ("orders", "/v1/users/\(user)/orders"),
            ("entitlements", "/v1/users/\(user)/entitlements"),
        ]
        let pages = [
            ("orders", "/dashboard"), ("orders of a customer", "/dashboard?user=\(user)"),
            ("completed orders", "/dashboard?status=completed"), ("orders that wait", "/dashboard?status=created"),
            ("quarantine", "/dashboard/quarantine"), ("transfers", "/dashboard/transfers"),
            ("refusals", "/dashboard/refusals"),
        ]
        let clock = ContinuousClock()
        let begin = clock.now
        let server = try ServerProcess(
            till: till, set: set, database: database,
            environment: ["TILL_OPERATORS": #"[{"id":"load","sha256":"\#(Self.hash(Self.operatorToken))"}]"#])
        do {
            let url = try server.listening()
            let started = clock.now - begin
            guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw LoadError("no port in \(url)")
            }
            var lines = ["start: " + Self.milliseconds(started)]
            for (name, path) in reads {
                lines.append(try line(name, RawClient.get(path, key: LoadSet.secretKey), port, clock))
            }
            for (name, path) in pages {
                lines.append(try line("page: " + name, RawClient.get(path, key: Self.operatorToken), port, clock))
            }
            lines.append(try line("metrics", RawClient.get("/metrics", key: Self.operatorToken), port, clock))
            let status = try String(contentsOfFile: "/proc/\(server.id)/status", encoding: .utf8).split(separator: "\n")
            let resident = status.first { $0.hasPrefix("VmRSS:") }?.split(separator: " ").dropFirst().first
            lines.append("resident KiB: \(resident ?? "?")")
            try server.stop()
            return lines.joined(separator: "\n")
        } catch {
            server.kill()
            throw error
        }
    }

    private func line(_ name: String, _ request: [UInt8], _ port: UInt16, _ clock: ContinuousClock) throws -> String {
        let client = RawClient(port: port)
        var times: [Duration] = []
        for _ in 0..<Self.repetitions {
            let begin = clock.now
            let status = client.send(request)
            guard status == 200 else { throw LoadError("\(name) was answered \(status)") }
            times.append(clock.now - begin)
        }
        let first = times[0]
        times.sort()
        let found = [first, times[times.count / 2], times[times.count - 1]]
        return "\(name): " + zip(Self.names, found).map { "\($0) \(Self.milliseconds($1))" }.joined(separator: ", ")
            + ", \(client.body.count) bytes"
    }

    private static func milliseconds(_ time: Duration) -> String { String(format: "%.2f ms", time / .milliseconds(1)) }

    private static func hash(_ text: String) -> String {
        Digest.sha256.hash(text.utf8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
