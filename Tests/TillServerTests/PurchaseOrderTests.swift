import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillSQL
import TillTestDatabases

@testable import TillEmulator
@testable import TillLedger
@testable import TillServer

/// Whatever Apple signs about some purchases, in any order and any number of times, the ledger ends in the same state
/// (U4, U6, U8; DESIGN §4, invariant 8).
@Suite("PurchaseDecision does not depend on the order of arrival") struct PurchaseOrderTests {
    /// Each row: transaction/chain, product, kind of purchase, order, days, time of signing, further statements.
    ///
    /// Orders are OA to OE of users A to E; `none` is no token, `lost` a token that names no known order.
    static let signed = """
        100/100 basic   buy   OA   0-30    @0
        100/100 basic   buy   OA   0-30    @20
        100/100 basic   buy   OA   0-33    @25
        101/100 basic   renew OA   32-63   @32
        101/100 basic   renew OA   32-63   @35 upgraded
        101/100 basic   renew OA   32-63   @120 upgraded refunded 118
        102/100 premium buy   OA   35-65   @35
        103/100 premium renew none 64-95   @64
        104/100 premium renew lost 94-125  @94
        104/100 premium renew lost 94-125  @100 refunded 99
        104/100 premium renew lost 94-125  @110
        105/100 basic   buy   OA   140-170 @140
        106/100 basic   renew none 169-200 @169
        106/100 basic   renew none 169-200 @180 refunded 179
        150/150 premium buy   OA   10-40   @10
        151/150 premium renew lost 39-70   @39 trial
        200/200 points60  buy OB 1 @1
        200/200 points60  buy OB 1 @50 refunded 49
        200/200 points60  buy OB 1 @60
        201/201 points60  buy OB 2 @2
        201/201 points60  buy OB 2 @70 refunded 69
        202/202 points300 buy OB 3 @3
        203/203 points60  buy none 4 @4
        204/204 points60  buy lost 5 @5
        204/204 points60  buy lost 5 @80 refunded 79
        205/205 points60  buy OB 6 @6
        205/205 points60  buy OB 6 @6 refunded 6
        300/300 basic   buy   none 0-30  @0 shared
        301/300 basic   renew none 29-60 @29 shared
        400/400 pro     buy   OC 6 @6
        400/400 pro     buy   OC 6 @90 refunded 89
        400/400 pro     buy   OC 6 @91 refunded 89
        401/401 museum  buy   OC 7 @7
        500/500 month   buy   OD 8 @8
        501/501 month   buy   OD 9 @9
        501/501 month   buy   OD 9 @20 refunded 19
        502/502 year    buy   OE 30 @30
        word 100 @0 on
        word 100 @20 off
        word 100 @35 on
        word 100 @64 on next basic
        word 100 @99 off
        word 100 @140 on
        word 100 @170 off
        word 150 @39 on
        word 150 @70 on retry grace 76
        word 150 @70 off retry
        """

    private static let products: [(id: String, type: TillBilling.ProductType, points: [String: Int64])] = [
        ("basic", .autoRenewable, [:]), ("premium", .autoRenewable, [:]), ("pro", .nonConsumable, [:]),
        ("museum", .nonConsumable, [:]), ("points60", .consumable, ["points": 60]),
        ("points300", .consumable, ["points": 300]), ("month", .consumable, [:]), ("year", .consumable, [:]),
    ]

    private static let catalog = Catalog(
        products: products.map { id, type, points in
            let length = id == "month" ? "P1M" : id == "year" ? "P1Y" : nil
            return CatalogProduct(
                id: ProductID(id), type: type, names: LocalizedText(en: id, zh: id),
                price: Money(amount: 600, currency: Currency("USD")), points: points,
                entitlement: points.isEmpty && length == nil ? id : nil,
                plan: length.flatMap { PlanLength($0) }.map { PlanTerms(id: PlanID(id), length: $0, rank: "cloud") })
        })

    /// The user and the product of each order.
    private static let orders = [
        ("OA", "A", "basic"), ("OB", "B", "points60"), ("OC", "C", "pro"), ("OD", "D", "month"), ("OE", "D", "year"),
    ]

    private static func order(_ name: String) -> OrderID {
        UniqueID(high: 0x0123_4567_89AB_4CDE, low: 0x8000_0000_0000_0000 | UInt64(name.utf8.last ?? 0))
    }

    private static func at(_ day: Int64) -> Instant { Instant(seconds: 1_780_000_000 + day * 86_400) }

    // MARK: Signed payloads

    private enum Piece: Sendable {
        case transaction(VerifiedTransaction, [UInt8])
        case renewal(VerifiedRenewalInfo, [UInt8])
    }

    private static func pieces(_ dashboardServer: DashboardServer, _ verifier: SignedDataVerifier) throws -> [Piece] {
        try signed.split(separator: "\n").map { line in
            var words = line.split(separator: " ").map(String.init)[...]
            let members = words.first == "word" ? renewal(&words) : transaction(&words)
            let token = try dashboardServer.emulator.issuer.sign(members)
            return line.hasPrefix("word")
                ? .renewal(try verifier.renewalInfo(token), Array(token.utf8))
                : .transaction(try verifier.transaction(token), Array(token.utf8))
        }
    }

    private static func days(_ text: String?) -> [Int64] {
        (text ?? "").split(separator: "-").compactMap { Int64($0) }
    }

    private static func day(_ text: String?) -> JSONValue {
        .int(at(Int64((text ?? "").drop { $0 == "@" }) ?? 0).milliseconds)
    }

    private static func transaction(_ words: inout ArraySlice<String>) -> [String: JSONValue] {
        let ids = (words.popFirst() ?? "").split(separator: "/").map(String.init)
        let product = words.popFirst() ?? ""
        let reason = words.popFirst() == "renew" ? "RENEWAL" : "PURCHASE"
        let token = words.popFirst() ?? ""
        let days = days(words.popFirst())
        let type = products.first { $0.id == product }?.type ?? .consumable
        var members: [String: JSONValue] = [
            "transactionId": .string(ids[0]), "originalTransactionId": .string(ids[1]),
            "bundleId": .string(DashboardServer.bundleID), "productId": .string(product),
            "type": .string(type.rawValue),
            "purchaseDate": .int(at(days[0]).milliseconds), "quantity": 1, "environment": "Sandbox",
            "transactionReason": .string(reason), "signedDate": day(words.popFirst()), "price": 5_990,
            "currency": "USD", "inAppOwnershipType": "PURCHASED",
            "originalPurchaseDate": .int(at(ids[0] == ids[1] ? days[0] : 0).milliseconds),
        ]
        if days.count == 2 { members["expiresDate"] = .int(at(days[1]).milliseconds) }
        if token != "none" { members["appAccountToken"] = .string(order(token).description) }
        while let word = words.popFirst() {
            switch word {
            case "upgraded": members["isUpgraded"] = true
            case "shared": members["inAppOwnershipType"] = "FAMILY_SHARED"
            case "trial":
                members["offerType"] = 1
                members["offerDiscountType"] = "FREE_TRIAL"
            case "refunded":
                members["revocationDate"] = day(words.popFirst())
                members["revocationReason"] = 0
            default: Issue.record("\(word)?")
            }
        }
        return members
    }

    private static func renewal(_ words: inout ArraySlice<String>) -> [String: JSONValue] {
        words.removeFirst()
        var members: [String: JSONValue] = [
            "originalTransactionId": .string(words.popFirst() ?? ""), "environment": "Sandbox",
            "signedDate": day(words.popFirst()),
        ]
        while let word = words.popFirst() {
            switch word {
            case "on", "off": members["autoRenewStatus"] = word == "on" ? 1 : 0
            case "retry": members["isInBillingRetryPeriod"] = true
            case "grace": members["gracePeriodExpiresDate"] = day(words.popFirst())
            case "next": members["autoRenewProductId"] = .string(words.popFirst() ?? "")
            default: Issue.record("\(word)?")
            }
        }
        return members
    }

    // MARK: The state of the ledger

    private static let users = ["A", "B", "C", "D"]

    /// Opens a fresh ledger with the orders in it, processes all pieces in the given order, and reads the resulting
    /// state.
    private static func books(
        _ pieces: [Piece], _ dashboardServer: DashboardServer, _ configuration: ServerConfiguration
    ) async throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = try LedgerPlace(in: folder)
        let ledger = try place.open()
        let now = at(205)
        let server = try Server(
            configuration: configuration, database: ledger, clock: { now }, entropy: RandomBytes.make)
        try await ledger.write { connection in
            for (name, user, product) in orders {
                let opened = at(-1)
                try OrderTable(connection).insert(
                    Order(
                        id: order(name), userID: UserID(user), productID: ProductID(product), quantity: 1,
                        price: Money(amount: 600, currency: Currency("USD")), createdAt: opened, updatedAt: opened),
                    reason: "opened")
            }
        }
        let origin = PurchaseOrigin(source: .notification, caller: .apple)
        for piece in pieces {
            switch piece {
            case .transaction(let verified, let bytes):
                let proof = PurchaseProof(kind: .signedTransaction, bytes: bytes)
                _ = try await server.ledger.intake.accept(VerifiedPurchase(verified, proof), from: origin)
            case .renewal(let info, let bytes):
                try await server.ledger.intake.processor.recordRenewal(SignedRenewal(info: info, proof: bytes))
            }
        }
        let found = try await ledger.read { connection in
            try transactions(connection) + rights(connection) + wallets(connection)
        }
        await ledger.close()
        try place.remove()
        return found
    }

    private static func transactions(_ connection: any Connection) throws -> [String] {
        try connection.query(
            """
            SELECT t.id, t.state, \(user: "CASE t.state WHEN 1 THEN g.customer_id END") AS user_id, t.signed_at, \
            t.revoked_at, t.expires_at, t.is_upgraded, length(p.body) AS length, o.status FROM transactions t LEFT \
            JOIN grants g ON g.transaction_row_id = t.row_id LEFT JOIN orders o ON o.row_id = t.order_row_id \
            AND t.state = 1 JOIN proofs p ON p.transaction_row_id = t.row_id ORDER BY t.id
            """, []
        ) { row in
            let columns: [StaticString] = [
                "id", "state", "user_id", "signed_at", "revoked_at", "expires_at", "is_upgraded", "length", "status",
            ]
            return columns.map { row.optionalText($0) ?? "-" }.joined(separator: " ")
        }
    }

    private static func rights(_ connection: any Connection) throws -> [String] {
        var reported: [String] = []
        let days: [Int64] = [5, 26, 34, 50, 72, 98, 130, 150, 190, 300]
        let catalogs = CatalogHistory(catalog, since: at(0))
        for (user, day) in users.flatMap({ user in days.map { (user, $0) } }) {
            let rights = try Rights.load(
                of: UserID(user), in: .sandbox, at: at(day), catalogs: catalogs, connection: connection)
            reported += rights.all.map { right in
                let until = right.until?.rfc3339 ?? "-"
                return "\(day) \(user) \(right.entitlement) \(right.why) \(right.productID) \(right.since) \(until)"
            }
            reported += rights.subscriptions.map { held in
                let state = held.state
                return "\(day) \(user) \(held.originalID) \(state.state) \(state.current.transactionID) \(state.until) "
                    + "\(state.willRenew.map(String.init) ?? "-") \(state.renewalProductID?.text ?? "-")"
            }
        }
        return reported
    }

    private static func wallets(_ connection: any Connection) throws -> [String] {
        #expect(try LedgerTable(connection).unbalanced().isEmpty)
        return try users.map { user in
            "\(user) \(try LedgerTable(connection).wallet(of: UserID(user), in: .sandbox).balances)"
        }
    }

    @Test("The same copies in many orders, some of them twice, lead to the same transactions, rights and wallets")
    func anyOrder() async throws {
        try await DashboardServer.open { dashboardServer in
            var configuration = dashboardServer.server.configuration
            configuration.catalog = Self.catalog
            let pieces = try Self.pieces(dashboardServer, dashboardServer.server.receiptResponses.verifier)
            let expected = try await Self.books(pieces, dashboardServer, configuration)
            #expect(expected.contains { $0.hasPrefix("100 1 A") }, "\(expected.joined(separator: "\n"))")
            var random = SeededRandom(state: 20_260_301)
            for seed in 0..<10 {
                var shuffled = pieces + pieces.filter { _ in random.next() % 3 == 0 }
                shuffled.shuffle(using: &random)
                let order = seed == 0 ? pieces.reversed() : shuffled
                let found = try await Self.books(order, dashboardServer, configuration)
                let (missing, extra) = (Set(expected).subtracting(found), Set(found).subtracting(expected))
                #expect(found == expected, "\(seed): \(missing.sorted()) became \(extra.sorted())")
            }
        }
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
private struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
