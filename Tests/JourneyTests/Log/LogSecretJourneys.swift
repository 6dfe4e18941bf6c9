import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("Nothing secret is in the log (issue 20)") struct LogSecretJourneys {
    private static let operatorToken = "op_secret_0123456789abcdef"
    private static let sharedSecret = "0123456789abcdef0123456789abcdef"
    private static let address = "203.0.113.77"

    /// Everything that a request carries in this journey and that a reader of the log must not learn.
    private struct Secrets {
        var all: [String] = [
            Shop.secretKey, LogSecretJourneys.operatorToken, LogSecretJourneys.sharedSecret,
            LogSecretJourneys.address, String(decoding: Shop.tokenSecret, as: UTF8.self),
        ]

        /// A proof, a token: a line must not contain even one of its parts.
        mutating func add(_ token: String) {
            all += token.split(separator: ".").filter { $0.utf8.count > 20 }.map { String($0.suffix(60)) }
        }
    }

    @Test(
        "Purchases, refusals, claims, refunds, logins and failures leave no proof, token, key or address in a line",
        arguments: [true, false], Reach.allCases)
    func secrets(_ hasKey: Bool, _ reach: Reach) async throws {
        let (log, line) = (LogRecorder(), AppleProxy(secret: hasKey ? nil : Self.sharedSecret))
        var secrets = Secrets()
        try await Shop.open(
            reach,
            change: { configuration in
                let key = SecretKey(id: "anna", sha256: Digest.sha256.hash(Self.operatorToken.utf8))
                configuration.operators = [key]
                configuration.apple.sharedSecret = hasKey ? nil : Self.sharedSecret
            }, line: line, log: log
        ) { shop in
            let token = UserToken.hs256(subject: "ann", expires: shop.time.now.seconds + 600)
            secrets.add(token)
            let order = try await shop.openOrder(as: "ann")
            let payment = try await shop.pay(token: order)
            secrets.add(payment.signed)
            secrets.all.append(String(payment.receipt.prefix(80)))
            let forged = try #require(try Issuer.forged(payment.signed, at: shop.time.now) { RandomBytes.make(16) })
            secrets.add(forged)
            for proof in [forged, payment.signed, payment.signed, "not a proof"] {
                _ = try await shop.submit(proof, as: .bearer(token), orderID: order)
            }
            let receipt: JSONValue = [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(Shop.points60),
            ]
            let posted: JSONValue = [
                "receipt-data": .string(payment.receipt), "product_id": "points60", "token": .string(token),
                "transaction_id": .string(payment.id), "password": .string(Self.sharedSecret),
            ]
            line.outage = AppleConnectionError(.timedOut)
            _ = try await shop.send(.post, "/v1/transactions", receipt, as: .bearer(token))
            _ = try await shop.send(.post, "/postPay/ios", posted, as: .anonymous)
            _ = try await shop.send(
                .post, "/verifyReceipt",
                ["receipt-data": .string(payment.receipt), "password": .string(Self.sharedSecret)], as: .anonymous)
            let stray = try await shop.pay(token: nil)
            secrets.add(stray.signed)
            secrets.all.append(String(stray.receipt.prefix(80)))
            _ = try await shop.send(
                .post, "/v1/users/ann/restore", ["signedTransactions": [.string(stray.signed), .string(forged)]],
                as: .bearer(token))
            _ = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(forged)], as: .anonymous)
            for party in [Party.bearer(Self.operatorToken), .bearer(Self.operatorToken + "x"), .bearer(token + "x")] {
                _ = try await shop.status(.get, "/metrics", as: party)
                _ = try await shop.status(.get, "/dashboard", as: party)
                _ = try await shop.send(.get, "/v1/users/ann/wallet", as: party)
            }
            shop.time.advance(seconds: 700)
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            _ = try await WaitingReceipts(shop.server.ledger).askAll()
            line.outage = nil
            shop.time.advance(seconds: 7_200)
            _ = try await AppleTaskRuns(shop.server.ledger).runAll()
            _ = try await WaitingReceipts(shop.server.ledger).askAll()
            _ = try await shop.refund(payment.id, by: "ann")
            // A stranger's whole address, in process: the socket's is this machine's.
            var request = shop.made(.get, "/v1/users/ann/wallet", nil, as: .bearer("sk_guessed"))
            request.client = Self.address
            _ = await shop.server.respond(to: request)
        }
        #expect(log.lines(.request).count > 15 && !log.lines(.proofRefused).isEmpty)
        #expect(!log.lines(.appleRequestFailed).isEmpty && !log.lines(.purchaseRefunded).isEmpty)
        #expect(log.text.contains("203.0.113.0/24"))
        let text = log.text
        for secret in secrets.all { #expect(!text.contains(secret), "\(secret.prefix(30))… is in the log") }
        // Nor anything that is as long as a token and looks like one.
        let words = text.split { !$0.isASCII || !($0.isLetter || $0.isNumber || "-_.+/".contains($0)) }
        #expect(words.allSatisfy { $0.utf8.count < 100 }, "\(words.filter { $0.utf8.count >= 100 })")
    }
}
