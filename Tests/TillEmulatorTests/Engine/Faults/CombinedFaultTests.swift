import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Our own clients under all faults")
struct CombinedFaultTests {
    private static let combinedFaults: JSONValue = [
        "seed": 20, "drop": 0.2, "delay": 0.2, "duplicate": 0.2, "reorder": 0.2, "error5xx": 0.2, "html": 0.2,
        "rateLimit": 0.2, "internalStatus": 0.2, "clockSkew": 5_000,
    ]

    @Test("The server API's client reads everything, and reported successes are real, under all faults (U7)")
    func serverAPI() async throws {
        try await FaultyWorld.open { world in
            var ids: [TransactionID] = []
            for _ in 0..<12 {
                ids.append(TransactionID(try #require(await world.buy().json["transactionId"]?.string)))
            }
            var trust = TrustPolicy(bundleID: "com.example.learnpoints", environments: [.sandbox]) { world.world.now }
            trust.roots = [world.emulator.issuer.rootCertificate]
            let verifier = try SignedDataVerifier(policy: trust)
            let api = try await world.serverAPI()
            let policy = RetryPolicy(attempts: 20, timeLimit: 40_000_000)
            try await world.change(Self.combinedFaults)
            for id in ids {
                let found = try await api.retrying(policy) { api throws(ServerAPIError) in
                    try await api.transactionInfo(id, in: .sandbox)
                }
                let transaction = try found.value.verified(by: verifier)
                #expect(transaction.id == id)
                _ = try await api.retrying(policy) { api throws(ServerAPIError) in
                    try await api.finish(id, in: .sandbox)
                }
            }
            for id in ids {
                #expect(await world.ask(.get, "/emulator/transactions/\(id.text)").json["finished"] == true)
            }
            // A final refusal is reported as it is, once it gets through.
            let unknown = await #expect(throws: ServerAPIError.self) {
                try await api.retrying(policy) { api throws(ServerAPIError) in
                    try await api.transactionInfo(TransactionID("1"), in: .sandbox)
                }
            }
            #expect(unknown?.code == .transactionIDNotFound)
            let struck = await world.ask(.get, "/emulator/faults").json["injected"]
            for fault in ["dropBefore", "dropAfter", "delay", "duplicate", "reorder", "error5xx", "html", "rateLimit"] {
                let times = ["transactionInfo", "finish"].compactMap { struck?[$0]?[fault]?.int }.reduce(0, +)
                #expect(times > 0, "\(fault) struck no request: \(struck?.encoded() ?? "")")
            }
            #expect(await world.total() == 12)
        }
    }

    @Test("verifyReceipt's client gets its verdict by retrying, for a valid receipt and an invalid one (P2)")
    func verifyReceipt() async throws {
        try await FaultyWorld.open { world in
            let id = try #require(await world.buy().json["transactionId"]?.string)
            let receipt = try await world.emulator.receipt(bundleID: "com.example.learnpoints")
            let forged = try #require(
                try Issuer.forged(receipt: receipt, at: world.world.now) { [UInt8](repeating: 7, count: 16) })
            let client = VerifyReceiptClient(
                exchange: world.exchange, hosts: .emulator(at: "http://store.test"), secret: nil)
            try await world.change(Self.combinedFaults)
            for (bytes, isGood) in [(receipt, true), (forged, false)] {
                let request = try VerifyReceiptRequest(receipt: bytes)
                var outcome: VerifyReceiptOutcome?
                var attempt = 0
                while outcome == nil {
                    attempt += 1
                    switch await client.verify(request) {
                    case .retry(_, let after):
                        try #require(attempt < 1_000)
                        world.world.advance(seconds: (after ?? 60_000) / 1_000 + 1)
                    case let verdict: outcome = verdict
                    }
                }
                switch outcome {
                case .answered(let answer, from: .sandbox)?:
                    #expect(isGood)
                    #expect(answer.receipt?.inApp?.map(\.transactionID) == [id])
                case .refused(let status, isFinal: false)?:
                    #expect(!isGood && status == .notAuthentic)
                default: Issue.record("\(String(describing: outcome))")
                }
            }
            let struck = await world.ask(.get, "/emulator/faults").json["injected"]?["verifyReceipt"]
            #expect(struck?["internalStatus"]?.int ?? 0 > 0)
            #expect(struck?.object?.count ?? 0 >= 7, "\(struck?.encoded() ?? "")")
        }
    }
}
