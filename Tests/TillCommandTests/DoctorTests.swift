import Testing
import TillBilling
import TillJSON
import TillLedger
import TillSQLite

@testable import till

@Suite("till doctor") struct DoctorTests {
    private static let constant = UniqueID(high: 0x7C1D_2B3A_0F4E_4A6B, low: 0x8C9D_0E1F_2A3B_4C5D)

    /// Payments with one token, each from its own Apple Account.
    ///
    /// - Parameters:
    ///   - apple: more members of `apple`.
    ///   - waiting: why a receipt waits for Apple; nil: none waits.
    private func run(
        payments: Int = 0, state: RecordedTransaction.State = .granted, apple: String = "", waiting: String? = nil,
        language: String = "en"
    ) async throws -> (ExitCode, JSONValue, String) {
        let directory = try TemporaryDirectory()
        try directory.write(
            "catalog.json",
            """
            {"products": [{"id": "p", "type": "Consumable", "names": {"en": "p", "zh": "p"},
              "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
            """)
        try directory.write(
            "till.json",
            """
            {"database": "sqlite:till.db", "catalog": "catalog.json",
             "apple": {"bundleId": "com.example.learn", "environments": ["Sandbox"]\(apple)}}
            """)
        let ledger = try SQLiteDatabase.open(path: directory.path + "/till.db", role: .server, options: .init(.ledger))
        try await ledger.write { connection in
            for number in 0..<payments {
                let at = Instant(seconds: 1_790_000_000)
                var payment = PaidTransaction(
                    id: TransactionID("\(number)"), originalID: TransactionID("\(number)"), productID: ProductID("p"),
                    quantity: 1, environment: .sandbox, token: .order(Self.constant), purchasedAt: at, signedAt: at,
                    revokedAt: nil, isRenewal: false, isFromReceipt: false, price: nil)
                payment.appTransactionID = "70\(number)"
                _ = try TransactionTable(connection).insert(
                    payment, state: state, quarantine: state == .quarantined ? .unknownToken : nil, orderRowID: nil,
                    at: at)
            }
            let now = Instant(seconds: 1_790_000_000)
            if let waiting {
                try WaitingProofTable(connection).insert(
                    TransactionID("7"), in: .sandbox, by: .init(name: "user:ann", namedUser: nil, claimedOrder: nil),
                    receipt: [1], digest: Array(repeating: 2, count: 32), at: now, due: now, detail: waiting)
            }
        }
        await ledger.close()
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        let code = await program.run([
            "doctor", "--json", "--lang", language, "--config", directory.path + "/till.json",
        ])
        return (code, try JSONValue(decoding: Array(recorder.out.utf8)), recorder.error)
    }

    private func check(_ name: String, in document: JSONValue) throws -> JSONValue {
        try #require(document["checks"]?.array?.first { $0["name"]?.string == name })
    }

    @Test("A token in payments of more than three Apple Accounts is reported, with what to check (V2)")
    func sharedToken() async throws {
        let (code, document, _) = try await run(payments: 4, state: .granted)
        #expect(code == .done)
        let found = try check("shared_tokens", in: document)
        #expect(found["status"]?.string == "warning")
        #expect(found["detail"]?.string?.contains(Self.constant.description) == true)
        #expect(found["action"]?.string?.isEmpty == false)
        #expect(try check("ledger", in: document)["status"]?.string == "ok")
    }

    @Test("Three Apple Accounts count as one customer's, and quarantined purchases are counted (V2)")
    func ordinary() async throws {
        let (code, document, _) = try await run(payments: 3, state: .quarantined)
        #expect(code == .done)
        #expect(try check("shared_tokens", in: document)["status"]?.string == "ok")
        let waiting = try check("quarantine", in: document)
        #expect(waiting["status"]?.string == "warning" && waiting["detail"]?.string?.hasPrefix("3 ") == true)
    }

    @Test("Doctor says whether Apple can be asked about receipts, and whether it refuses the shared secret (P2)")
    func receipts() async throws {
        let secret = #", "sharedSecret": "0123456789abcdef""#
        let wrong = SignedTransactionLookup.Answer.wrongSecret
        let cases: [(apple: String, waiting: String?, code: ExitCode, status: String, part: String)] = [
            ("", nil, .done, "warning", "neither an In-App Purchase Key nor apple.sharedSecret"),
            (secret, nil, .done, "ok", "verifyReceipt"),
            (secret, "verifyReceipt: timedOut", .done, "ok", "verifyReceipt"),
            (secret, wrong, .refused, "error", "Apple refuses apple.sharedSecret (21004); 1 receipts wait."),
        ]
        for item in cases {
            let (code, document, _) = try await run(apple: item.apple, waiting: item.waiting)
            let found = try check("receipts", in: document)
            #expect(code == item.code && found["status"]?.string == item.status, "\(item)")
            #expect(found["detail"]?.string?.contains(item.part) == true, "\(found)")
            #expect((found["action"]?.string ?? "").isEmpty == (item.status == "ok"))
        }
        let (_, chinese, _) = try await run(apple: secret, waiting: wrong, language: "zh")
        #expect(try check("receipts", in: chinese)["detail"]?.string?.contains("Apple 拒绝 apple.sharedSecret") == true)
    }

    @Test("A missing ledger is an error with its cure")
    func noLedger() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            "catalog.json",
            """
            {"products": [{"id": "p", "type": "Consumable", "names": {"en": "p", "zh": "p"},
              "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
            """)
        try directory.write(
            "till.json",
            """
            {"database": "sqlite:missing/till.db", "catalog": "catalog.json",
             "apple": {"bundleId": "com.example.learn", "environments": ["Sandbox"]}}
            """)
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        let code = await program.run(["doctor", "--json", "--config", directory.path + "/till.json"])
        #expect(code == .refused)
        let document = try JSONValue(decoding: Array(recorder.out.utf8))
        #expect(try check("ledger", in: document)["status"]?.string == "error")
    }
}
