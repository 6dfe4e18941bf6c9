import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

@Suite("App transactions and order ids")
struct AppTransactionTests {
    @Test("An app transaction has every field of its environment; one for a device is bound to the device")
    func content() async throws {
        for environment in [StoreEnvironment.sandbox, .production] {
            var configuration = EmulatorConfiguration()
            configuration.environment = environment
            let world = try await EmulatedWorld(configuration)
            let device = "3F2C1A00-1111-4222-8333-444455556666"
            _ = await world.ask(.put, "/emulator/accounts/anna", [:])
            let registered = await world.ask(
                .put, "/emulator/accounts/anna/devices", ["id": .string(device), "name": "Anna's", "platform": "iOS"])
            let own = try #require(registered.json["deviceVerificationId"]?.string)
            let answer = await world.ask(
                .get, "/emulator/app-transaction", query: [("account", "anna"), ("deviceId", device)])
            #expect(answer.status == 200)
            let content = try payload(of: answer.json["signedAppTransaction"]?.string)
            let members = try #require(content.object)
            var expected: Set<String> = [
                "receiptType", "bundleId", "applicationVersion", "originalApplicationVersion", "receiptCreationDate",
                "originalPurchaseDate", "appTransactionId", "originalPlatform", "deviceVerification",
                "deviceVerificationNonce",
            ]
            if environment == .production { expected.formUnion(["appAppleId", "versionExternalIdentifier"]) }
            #expect(Set(members.keys) == expected)
            #expect(content["receiptType"]?.string == environment.rawValue)
            let bought = environment == .production ? world.now : Instant(seconds: 1_375_340_400)
            #expect(content["originalPurchaseDate"] == .int(bought.milliseconds))
            #expect(content["receiptCreationDate"] == .int(world.now.milliseconds))
            let nonce = try #require(content["deviceVerificationNonce"]?.string)
            let bound = Digest.sha384.hash((nonce + own.lowercased()).utf8)
            #expect(content["deviceVerification"]?.string == Base64.encode(bound))
            // The download belongs to the account, and later purchases carry its number.
            let bought2 = try await world.buy("points60", ["account": "anna"])
            let transaction = try payload(of: bought2["signedTransaction"]?.string)
            #expect(transaction["appTransactionId"] == content["appTransactionId"])
            #expect(answer.json["appTransactionId"] == content["appTransactionId"])
            let other = await world.ask(.get, "/emulator/app-transaction")
            #expect(other.json["appTransactionId"] != content["appTransactionId"])
            let signed = try payload(of: other.json["signedAppTransaction"]?.string)
            #expect(signed["deviceVerification"] == nil)
            let wrong = await world.ask(.get, "/emulator/app-transaction", query: [("deviceId", "phone")])
            #expect(wrong.json["code"] == "wrong_value")
            await world.remove()
        }
    }

    @Test("The circumstances of the download can be set, and are in later signed payloads")
    func cameAbout() async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        let before = try await world.buy("points60", ["account": "anna"])
        let put = await world.ask(
            .put, "/emulator/app-transaction",
            [
                "account": "anna", "originalVersion": "0.9", "preorderDate": "2026-01-02T03:04:05.000Z",
                "platform": "tvOS",
            ])
        #expect(put.status == 200)
        let asked = await world.ask(.get, "/emulator/app-transaction", query: [("account", "anna")])
        for answer in [put, asked] {
            let content = try payload(of: answer.json["signedAppTransaction"]?.string)
            #expect(content["originalApplicationVersion"] == "0.9")
            #expect(content["preorderDate"] == .int(1_767_323_045_000))
            #expect(content["originalPlatform"] == "tvOS")
            let transaction = try payload(of: before["signedTransaction"]?.string)
            #expect(content["appTransactionId"] == transaction["appTransactionId"])
        }
        let wrong = await world.ask(.put, "/emulator/app-transaction", ["platform": "watchOS"])
        #expect(wrong.status == 400 && wrong.json["code"] == "wrong_value")
        await world.remove()
    }

    @Test("A preorder's date is in the app transaction")
    func preorder() {
        var download = AppDownload(
            account: "a", bundleID: "b", appTransaction: 7, downloaded: Instant(seconds: 1_700_000_000))
        download.preordered = Instant(seconds: 1_699_000_000)
        download.platform = "visionOS"
        download.originalVersion = "0.9"
        let content = AppTransactionContent(
            download: download, app: EmulatedApp(bundleID: "b"), environment: .production)
        let members = content.payload(signed: Instant(seconds: 1_800_000_000)).json
        #expect(members["preorderDate"] == 1_699_000_000_000)
        #expect(members["originalPlatform"] == "visionOS")
        #expect(members["originalApplicationVersion"] == "0.9")
    }

    @Test("A customer without a download gets 4040019")
    func withoutDownload() async throws {
        let world = try await EmulatedWorld()
        let shared = try await world.bought()
        let copy = try await world.insert(like: shared) { $0.appTransaction = 5 }
        let answer = try await world.call(.appTransactionInfo, copy.id.text)
        #expect(answer.json["errorCode"] == 4_040_019)
        await world.remove()
    }

    // MARK: Order ids

    @Test("An order id yields its transaction; one wrong letter or two swapped ones yield none")
    func orderNumbers() throws {
        var random = SeededNumbers(state: 7)
        let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ2345678")
        var seen: Set<String> = []
        let numbers: [Int64] = [0, 1, 30, 31, 2_000_000_123_456_789, .max, .max - 1]
        for number in numbers + (0..<200).map({ _ in Int64.random(in: 0...Int64.max, using: &random) }) {
            let text = OrderNumber(transaction: number).description
            #expect(text.first == "M" && (12...16).contains(text.count))
            #expect(seen.insert(text).inserted)
            #expect(OrderNumber(text)?.transaction == number)
            #expect(OrderNumber(text.lowercased())?.transaction == number)
            var letters = Array(text)
            let place = Int.random(in: 1..<letters.count, using: &random)
            let right = letters[place]
            letters[place] = try #require(alphabet.filter { $0 != right }.randomElement(using: &random))
            #expect(OrderNumber(String(letters)) == nil)
            letters[place] = right
            let left = Int.random(in: 1..<letters.count - 2, using: &random)
            letters.swapAt(left, left + 1)
            if letters[left] != letters[left + 1] { #expect(OrderNumber(String(letters)) == nil) }
        }
        for text in ["", "M", "MA", "X2345678ABCDE", "M💸", String(repeating: "M", count: 10_000), "M0000000000000"] {
            #expect(OrderNumber(text) == nil)
        }
    }

    @Test("A shared purchase has no order id, and a deleted account's order id is no longer valid")
    func orders() async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        let id = try await world.bought("library", ["account": "gone"])
        let number = try #require(Int64(id))
        let shared = try await world.insert(like: id) { $0.sharedFrom = number }
        #expect(shared.orderNumber == nil)
        let order = OrderNumber(transaction: number).description
        #expect(try await world.call(.orderLookup, order).json["status"] == 0)
        let copy = OrderNumber(transaction: shared.number).description
        #expect(try await world.call(.orderLookup, copy).json["status"] == 1)
        try await world.deleteAccount("gone")
        #expect(try await world.call(.orderLookup, order).json["status"] == 1)
        await world.remove()
    }
}
