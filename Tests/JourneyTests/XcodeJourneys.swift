import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQLite

@Suite("An app in Xcode buys against a local Till") struct XcodeJourneys {
    private func open(_ signer: XcodeSigner, _ journey: (Shop) async throws -> Void) async throws {
        try await Shop.open(environments: [.xcode]) { configuration in
            configuration.apple.testCertificates = [signer.certificate]
        } _: { shop in
            try await journey(shop)
        }
    }

    @Test("A purchase in Xcode is granted once to its order, and marked as not paid (O8, U8)")
    func purchase() async throws {
        let signer = try XcodeSigner()
        try await open(signer) { shop in
            let order = try await shop.openOrder(as: "lin")
            let proof = try signer.purchase(token: order, at: shop.time.now)
            let granted = try await shop.submit(proof, as: .user("lin"))
            #expect(granted.status == 200 && granted["outcome"].text == "granted", "\(granted.body)")
            #expect(granted["orderId"].text == order.description && granted["sandbox"] == true)
            #expect(granted["finish"] == true)
            #expect(try await shop.submit(proof, as: .user("lin"))["outcome"].text == "alreadyGranted")
            #expect(try await shop.points(of: "lin", environment: "xcode") == 60)
            let wallet = try await shop.send(.get, "/v1/users/lin/wallet")
            #expect(wallet["balances"].at("points").int == 60, "the usual environment is Xcode's")
            let read = try await shop.send(.get, "/v1/orders/\(order)")
            #expect(read["environment"].text == "Xcode" && read["status"].text == "completed", "\(read.body)")
            // Every event says that nothing was paid.
            try await shop.server.ledger.placeEvents()
            let events = try await shop.send(.get, "/v1/events")["data"].list
            let paid = events.filter { $0.at("environment").text == "Xcode" }
            #expect(!paid.isEmpty && paid.allSatisfy { $0.at("sandbox") == true }, "\(events)")
        }
    }

    @Test("Save then finish grants a purchase in Xcode too (G4)")
    func savedFirst() async throws {
        let signer = try XcodeSigner()
        try await open(signer) { shop in
            try shop.restart { $0.delivery.order = .saveThenFinish }
            let order = try await shop.openOrder(as: "lin")
            let saved = try await shop.submit(try signer.purchase(token: order, at: shop.time.now), as: .user("lin"))
            #expect(saved["finish"] == true, "\(saved.body)")
            _ = try await SavedProofs(shop.server.ledger).processAll()
            #expect(try await shop.points(of: "lin", environment: "xcode") == 60)
        }
    }

    @Test("A development server refuses the App Store's purchases, another Xcode's and an expired certificate's (P9)")
    func refusals() async throws {
        let signer = try XcodeSigner()
        try await open(signer) { shop in
            let order = try await shop.openOrder(as: "lin")
            let now = shop.time.now
            // The emulated App Store's, whose root this server's configuration names.
            let paid = try await shop.pay(token: order)
            #expect(try await shop.submit(paid.signed, as: .user("lin")).code == "chain_length")
            let stranger = try XcodeSigner().purchase(token: order, at: now)
            #expect(try await shop.submit(stranger, as: .user("lin")).code == "chain_untrusted")
            for environment in ["Production", "Sandbox"] {
                let named = try signer.purchase(token: order, environment: environment, at: now)
                #expect(try await shop.submit(named, as: .user("lin")).code == "wrong_environment")
            }
            let receipt = try await shop.send(
                .post, "/v1/transactions",
                [
                    "receipt": .string(paid.receipt), "transactionId": .string(paid.id),
                    "productId": .string(Shop.points60), "orderId": .string(order.description),
                ], as: .user("lin"))
            #expect(receipt.status == 422 && receipt.code == "wrong_environment", "\(receipt.body)")
            #expect(try await shop.grantCount() == 0)
            // No request makes rows of another environment in this ledger.
            for environment in ["production", "sandbox"] {
                let bonus = try await shop.send(
                    .post, "/v1/users/lin/wallet/bonuses?environment=\(environment)",
                    ["currency": "points", "amount": 5, "reference": "b1", "reason": "r"])
                #expect(bonus.status == 400, "\(bonus.body)")
            }
        }
        let old = try XcodeSigner(validity: 1_585_763_555...1_600_000_000)
        try await open(old) { shop in
            let proof = try old.purchase(at: shop.time.now)
            #expect(try await shop.submit(proof, as: .backend, userID: "lin").code == "chain_expired")
        }
    }

    @Test("A server for the App Store refuses what a test certificate signed, whatever it says (P9, T8)")
    func leaked() async throws {
        let signer = try XcodeSigner()
        for environments: Set<TillBilling.StoreEnvironment> in [[.sandbox], [.production, .sandbox]] {
            try await Shop.open(environments: environments) { configuration in
                configuration.apple.testCertificates = [signer.certificate]
                configuration.apple.appAppleID = 1
            } _: { shop in
                let order = try await shop.openOrder(as: "lin")
                for environment in ["Xcode", "Production", "Sandbox"] {
                    let proof = try signer.purchase(token: order, environment: environment, at: shop.time.now)
                    let refused = try await shop.submit(proof, as: .user("lin"))
                    #expect(refused.status == 422 && refused.code == "chain_length", "\(refused.body)")
                }
                let wallet = try await shop.send(.get, "/v1/users/lin/wallet?environment=xcode")
                #expect(wallet.status == 400)
                #expect(try await shop.grantCount() == 0)
            }
        }
    }

    // MARK: As a process

    private func configure(_ files: ServerProcess, certificate: [UInt8]?) throws {
        if let certificate {
            try Data(certificate).write(to: files.folder.appendingPathComponent("StoreKitTestCertificate.cer"))
        }
        try files.configure(
            "apple",
            certificate == nil
                ? ["bundleId": .string(Shop.bundleID), "environments": ["Sandbox"], "roots": ["root.pem"]]
                : [
                    "bundleId": .string(Shop.bundleID), "environments": ["Xcode"],
                    "xcodeCertificate": "StoreKitTestCertificate.cer",
                ])
    }

    private func failure(_ files: ServerProcess, language: String) async throws -> String {
        let process = try TillProcess.start(["serve", "--config", files.configurationFile, "--lang", language])
        let (output, code) = await process.finish()
        #expect(code == 1 && output.isEmpty)
        return process.complaints
    }

    @Test("till serve says that it is for development; its ledger stays apart from the App Store's (DESIGN §4)")
    func process() async throws {
        let signer = try XcodeSigner()
        try await ServerProcess.withFiles { files in
            try configure(files, certificate: signer.certificate)
            let (process, port) = try await files.start()
            let now = Instant(seconds: Int64(Date().timeIntervalSince1970))
            let granted = try await files.send(
                port, .post, "/v1/transactions",
                ["signedTransaction": .string(try signer.purchase(at: now)), "userId": "lin"])
            #expect(granted["outcome"].text == "granted", "\(granted.body)")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
            #expect(process.complaints.contains("DEVELOPMENT SERVER"), "\(process.complaints)")

            // The same file, for the sandbox: refused, in both languages.
            try configure(files, certificate: nil)
            let refused = try await failure(files, language: "en")
            #expect(refused.contains("holds purchases from Xcode's local testing"), "\(refused)")
            #expect(try await failure(files, language: "zh").contains("本地测试"))
            // And the other way round, on a fresh ledger.
            for name in ["till.db", "till.db-wal", "till.db-shm"] {
                try? FileManager.default.removeItem(at: files.folder.appendingPathComponent(name))
            }
            let (store, storePort) = try await files.start()
            try await files.buy(storePort, as: "lin")
            store.send(SIGTERM)
            #expect(await store.end() == 0)
            #expect(!store.complaints.contains("DEVELOPMENT SERVER"))
            try configure(files, certificate: signer.certificate)
            let other = try await failure(files, language: "en")
            #expect(other.contains("holds purchases of Sandbox"), "\(other)")
            #expect(try await failure(files, language: "zh").contains("绝不共用账本"))
        }
    }
}
