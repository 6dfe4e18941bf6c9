import Foundation
import StoreKit
import Testing
import TillAppStore
import TillCrypto

@Suite("App-level data: storefront, verification id, app transaction (facts/storekit-client)")
struct AppLevelTests {
    @Test("The storefront is the account's; a change is delivered once to every listener")
    func storefront() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let before = try #require(await phone.run { await Storefront.current })
            #expect(before.countryCode == "CHN" && before.id == "143465" && before.currency?.identifier == "CNY")
            let ears = (0..<2).map { _ in EventRecorder(on: phone) { Storefront.updates } }
            let asked = client.count("news")
            try #require(await until { client.count("news") > asked + 2 })
            try await world.set("ann", ["storefront": "USA"])
            for recorder in ears {
                let received = await recorder.receives(1)
                #expect(received.map(\.countryCode) == ["USA"])
                #expect(received.map(\.currency?.identifier) == ["USD"] && received.map(\.id) == ["143441"])
            }
            #expect(await phone.run { await Storefront.current }?.countryCode == "USA")
            client.cut()
            #expect(await phone.run { await Storefront.current }?.countryCode == "USA", "as it was last")
            for recorder in ears { await recorder.end() }
        }
    }

    @Test("Before the store was reached there is no storefront and no verification id, and payments may be tried")
    func unreached() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            client.cut()
            try await phone.run {
                #expect(await Storefront.current == nil)
                #expect(AppStore.deviceVerificationID == nil && AppStore.canMakePayments)
                client.mend()
                try await AppStore.sync()
                #expect(AppStore.deviceVerificationID != nil)
            }
        }
    }

    @Test("Whether payments are allowed is the store's last answer")
    func payments() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            try await phone.run {
                try await AppStore.sync()
                #expect(AppStore.canMakePayments)
                try await world.set("ann", ["mayPay": false])
                try await AppStore.sync()
                #expect(!AppStore.canMakePayments)
            }
        }
    }

    @Test("Transactions, renewals and downloads prove that they are signed for the device's verification id")
    func verificationID() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let bought = try await phone.bought("member.monthly")
            try await phone.run {
                let id = try #require(AppStore.deviceVerificationID)
                func proves(_ proof: Data, _ nonce: UUID) -> Bool {
                    let text = nonce.uuidString.lowercased() + id.uuidString.lowercased()
                    return Array(proof) == Digest.sha384.hash(Array(text.utf8))
                }
                let status = try #require(try await Product.SubscriptionInfo.status(for: "21000001").first)
                let download = try await AppTransaction.shared
                #expect(proves(bought.deviceVerification, bought.deviceVerificationNonce))
                #expect(proves(status.transaction.deviceVerification, status.transaction.deviceVerificationNonce))
                #expect(proves(status.renewalInfo.deviceVerification, status.renewalInfo.deviceVerificationNonce))
                #expect(proves(download.deviceVerification, download.deviceVerificationNonce))
                #expect(bought.deviceVerificationNonce != download.deviceVerificationNonce)
            }
            let other = try world.phone(2)
            try await other.run { try await AppStore.sync() }
            let ids = (
                await phone.run { AppStore.deviceVerificationID }, await other.run { AppStore.deviceVerificationID }
            )
            #expect(ids.0 != ids.1)
        }
    }

    @Test("The app transaction of sandbox is verified, with the sandbox's common purchase date")
    func appTransaction() async throws {
        try await ModernWorld.with { world in
            let phone = try world.phone()
            let (first, again) = try await phone.run {
                (try await AppTransaction.shared, try await AppTransaction.refresh())
            }
            let download = try first.payloadValue
            #expect(download.bundleID == ModernWorld.bundleID && download.environment == .sandbox)
            #expect(download.originalPurchaseDate == Date(timeIntervalSince1970: 1_375_340_400))
            #expect(download.originalAppVersion == "1.0" && !download.appVersion.isEmpty)
            #expect(download.appID == nil && download.appVersionID == nil && download.preorderDate == nil)
            #expect(download.originalPlatform == .iOS && !download.appTransactionID.isEmpty)
            #expect(try again.payloadValue.appTransactionID == download.appTransactionID)
            #expect(first.jwsRepresentation != again.jwsRepresentation, "signed anew")
            #expect(first.jwsRepresentation.split(separator: ".").count == 3)
            #expect(first.payloadData == download.jsonRepresentation)
            try await world.ask(
                .put, "/emulator/app-transaction",
                [
                    "account": "ann", "bundleId": .string(ModernWorld.bundleID), "platform": "macOS",
                    "preorderDate": "2026-01-02T03:04:05Z",
                ])
            let changed = try await phone.run { try await AppTransaction.refresh() }.payloadValue
            #expect(changed.originalPlatform == .macOS)
            #expect(changed.preorderDate == Date(timeIntervalSince1970: 1_767_323_045))
            let other = try world.phone(2, of: "eve")
            let others = try await other.run { try await AppTransaction.shared }.payloadValue
            #expect(others.appTransactionID != download.appTransactionID)
        }
    }

    @Test("Without the network a sync and the app transaction are network errors; a sync brings the receipt")
    func sync() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            func isNetworkError(_ error: any Error) -> Bool {
                if case StoreKitError.networkError(let cause) = error {
                    cause.code == .cannotConnectToHost
                } else {
                    false
                }
            }
            client.cut()
            await #expect { try await phone.run { try await AppStore.sync() } } throws: { isNetworkError($0) }
            await #expect { _ = try await phone.run { try await AppTransaction.shared } } throws: {
                isNetworkError($0)
            }
            client.mend()
            #expect(!FileManager.default.fileExists(atPath: phone.receiptURL.path))
            try await phone.run { try await AppStore.sync() }
            #expect(try Data(contentsOf: phone.receiptURL).count > 100)
        }
    }
}
