import Foundation
import Glibc
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillServer

/// One anonymous request stalls no other: an unauthenticated request is not processed without need, and never where a
/// purchase would wait for it.
@Suite("Protection against stalls", .serialized) struct StallJourneys {
    /// Every address with a long body whose credential is in the header.
    private static let guarded = [
        "/v1/orders", "/v1/transactions", "/v1/restores", "/v1/users/u1/guests", "/v1/transfers", "/v1/users/u1/claims",
        "/v1/users/u1/wallet/debits", "/v1/reconciliations", "/v1/finance/apple-reports",
        "/dashboard/finance/apple-reports",
    ]

    @Test("A long body without a good credential is answered 401 before it arrives, and the connection is closed")
    func admission() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await blocking {
                for path in Self.guarded {
                    for authorization in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic x\r\n"] {
                        let connection = try #require(RawConnection(port: port, patienceMilliseconds: 5_000))
                        connection.send(
                            "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)"
                                + "Content-Length: 900000\r\n\r\n")
                        #expect(connection.answer()?.status == 401, "\(path) \(authorization)")
                        #expect(connection.isClosed())
                    }
                }
                // 64 KiB are read from every client, and the key is checked after them.
                let connection = try #require(RawConnection(port: port))
                connection.send("POST /v1/orders HTTP/1.1\r\nHost: t\r\nContent-Length: 65536\r\n\r\n")
                connection.send([UInt8](repeating: 0x20, count: 65_536))
                #expect(connection.answer()?.status == 401)
            }
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("Unauthenticated long bodies are limited in number and per address; others still find room")
    func anonymousBodies() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await blocking {
                let head = "POST /postPay/ios HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8388608\r\n\r\n"
                var open: [RawConnection] = []
                var refused = 0
                for _ in 0..<12 {
                    let connection = try #require(RawConnection(port: port, patienceMilliseconds: 500))
                    connection.send(head)
                    if let answer = connection.answer() {
                        refused += 1
                        #expect(answer.status == 503 && answer.text.contains("Retry-After: "), "\(answer.text)")
                    } else {
                        open.append(connection)
                    }
                }
                #expect(open.count == 4 && refused == 8, "32 MiB for one address: \(open.count) are taken")
                let receipt = try #require(RawConnection(port: port))
                receipt.send("POST /verifyReceipt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8388608\r\n\r\n")
                #expect(receipt.answer()?.text.contains(#""status":21005"#) == true, "in Apple's words")
                let other = try #require(RawConnection(port: port, from: 2, patienceMilliseconds: 500))
                other.send(head)
                #expect(other.answer() == nil, "another address has room of its own")
                try await files.buy(port, as: "meanwhile")
                withExtendedLifetime(open) {}
            }
            process.send(SIGKILL)
            #expect(await process.end() == -SIGKILL)
        }
    }

    /// Bodies of eight megabytes that each cost seconds of processor time if they are decoded completely first.
    private static func longBodies() -> [(path: String, body: [UInt8], status: Int)] {
        let plus = String(repeating: "+", count: (8 << 20) - 200)
        return [
            ("/postPay/ios", Array(plus.utf8), 400), ("/postPay/ios", Array("token=x&receipt-data=\(plus)".utf8), 401),
            ("/postPay/ios", Array(#"{"receipt-data":"\#(plus)","token":"x.y.z"}"#.utf8), 401),
            ("/verifyReceipt", Array(plus.utf8), 200),
        ]
    }

    @Test("Eight megabytes without a good token cost a fraction of a second of processor time")
    func longBodiesAreCheap() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            for (path, body, status) in Self.longBodies() {
                let before = try #require(Self.processorSeconds(of: process.id))
                try await blocking {
                    let connection = try #require(RawConnection(port: port, patienceMilliseconds: 60_000))
                    connection.send("POST \(path) HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.count)\r\n\r\n")
                    connection.send(body)
                    #expect(connection.answer()?.status == status, "\(path)")
                }
                let spent = try #require(Self.processorSeconds(of: process.id)) - before
                // A debug build takes about ten times as long as a release build; it took 40 s before.
                #expect(spent < 3, "\(path): \(spent) s")
            }
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("Purchases do not wait behind unauthenticated receipts")
    func purchasesGoOn() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await files.buy(port, as: "before")
            // Genuine base64 without a receipt: all of it must be decoded before it can be refused.
            let body = Array(#"{"receipt-data":"\#(String(repeating: "+", count: 4 << 20))"}"#.utf8)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        try await blocking {
                            let source = UInt8(2 + number / 4)
                            let connection = try #require(
                                RawConnection(port: port, from: source, patienceMilliseconds: 60_000))
                            connection.send(
                                "POST /verifyReceipt HTTP/1.1\r\nHost: t\r\nContent-Length: \(body.count)\r\n\r\n")
                            connection.send(body)
                            #expect(connection.answer()?.status == 200)
                        }
                    }
                }
                try await Task.sleep(for: .milliseconds(300))
                var slowest = Duration.zero
                for number in 0..<5 {
                    slowest = max(
                        slowest,
                        try await ContinuousClock().measure { try await files.buy(port, as: "during\(number)") })
                }
                #expect(slowest < .seconds(3), "\(slowest)")
                try await group.waitForAll()
            }
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    // MARK: Writes caused by forgeries

    /// A token with another signature each time.
    private static func forged(_ signed: String, _ number: Int) -> String {
        "\(signed.dropLast(8))\(100_000 + number)AA"
    }

    @Test("A flood of forged notifications writes a row a second, and the checks of a few")
    func forgedNotifications() async throws {
        try await Shop.open { shop in
            let signed = try await shop.pay(token: nil).signed
            // From here on the signer is known: each forgery is verified, and refused for its signature.
            _ = try await shop.submit(signed, as: .user("ann"))
            func forge(_ numbers: Range<Int>) async throws {
                for number in numbers {
                    let reply = try await shop.send(
                        .post, "/v1/notifications/apple", ["signedPayload": .string(Self.forged(signed, number))],
                        as: .anonymous)
                    #expect((400..<500).contains(reply.status))
                }
            }
            try await forge(0..<100)
            var stored = try await shop.ledger.read { try RefusedProofTable($0).anonymous(limit: 500) }
            #expect(stored.count == 50 && stored.filter { $0.record != nil }.count == 5)
            shop.time.advance(seconds: 86_400)
            try await forge(100..<101)
            stored = try await shop.ledger.read { try RefusedProofTable($0).anonymous(limit: 500) }
            #expect(
                stored.count == 51 && stored.filter { $0.record != nil }.count == 6, "what comes alone is kept whole")
        }
    }

    @Test("The stored forged restores of one customer are limited; another customer's first is stored whole")
    func forgedRestores() async throws {
        try await Shop.open { shop in
            let signed = try await shop.pay(token: nil).signed
            _ = try await shop.submit(signed, as: .user("ann"))
            for first in [0, 50] {
                let tokens = (first..<(first + 50)).map { JSONValue.string(Self.forged(signed, $0)) }
                let reply = try await shop.send(
                    .post, "/v1/restores", ["signedTransactions": .array(tokens)], as: .user("eve"))
                #expect(reply.status == 200)
            }
            _ = try await shop.submit(Self.forged(signed, 1_000), as: .user("ann"))
            let stored = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: nil, limit: 500) }
            #expect(stored.filter { $0.caller == "user:eve" }.count == 50)
            #expect(
                stored.filter { $0.caller == "user:eve" && $0.record != nil }.count == 5, "the first are kept whole")
            #expect(stored.filter { $0.caller == "user:ann" && $0.record != nil }.count == 1)
        }
    }

    @Test("Verification of unknown certificates is rate limited; requests of known signers do not wait for it")
    func unknownSigners() async throws {
        try await Shop.open { shop in
            let genuine = try await shop.pay(token: nil).signed
            let forgery = String(genuine.dropLast(6)) + "AAAAAA"
            var answers: [Int] = []
            for _ in 0..<60 {
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string(forgery)], as: .anonymous)
                answers.append(reply.status)
            }
            #expect(answers.filter { $0 == 503 }.count == 20 && answers.prefix(40).allSatisfy { $0 < 500 })
            let bought = try await shop.submit(genuine, as: .user("ann"))
            #expect(bought.status < 300, "a customer's own pace is untouched")
            let reply = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(forgery)], as: .anonymous)
            #expect((400..<500).contains(reply.status), "the signer is known now: this is verified, and refused")
        }
    }

    @Test("One customer's unknown certificates are rate limited, in restores too, without delaying other customers")
    func unknownSignersOfOne() async throws {
        try await Shop.open(.socket) { shop in
            let genuine = try await shop.pay(token: nil).signed
            let forgery = String(genuine.dropLast(6)) + "AAAAAA"
            let restored = try await shop.send(
                .post, "/v1/restores", ["signedTransactions": .array(Array(repeating: .string(forgery), count: 39))],
                as: .user("eve"))
            #expect(restored.status == 200, "\(restored.body)")
            #expect(try await shop.submit(forgery, as: .user("eve")).status == 422)
            let waits = try await shop.submit(forgery, as: .user("eve"))
            #expect(waits.status == 503 && waits.headers["Retry-After"] != nil, "\(waits.body)")
            #expect(
                try await shop.submit(forgery, as: .user("ann")).status == 422, "another customer's pace is untouched")
            shop.time.advance(seconds: 1)
            #expect(try await shop.submit(forgery, as: .user("eve")).status == 422)
        }
    }

    // MARK: Figures from the system

    private static func processorSeconds(of process: Int32) -> Double? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
