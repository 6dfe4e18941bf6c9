import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillJSON
import TillLedger
import TillSQL

/// The hostile corpus against the server: genuine proofs of the emulated store, damaged in hundreds of ways. Proofs
/// that need Apple's own key are tested at the verifier, in TillAppStoreTests/Hostile.
@Suite("Hundreds of damaged proofs are refused, and leave no trace but the log")
struct HostileCorpusJourneys {
    /// The codes of possible refusals.
    static let codes: Set<String> = [
        "malformed", "missing_x5c", "chain_length", "bad_certificate", "chain_untrusted", "chain_expired",
        "missing_oid",
        "bad_signature", "wrong_app", "wrong_environment",
    ]

    @Test("Damaged signed transactions are 422 with a stable code, and grant nothing (P9)")
    func transactions() async throws {
        try await Shop.open(environments: [.sandbox]) { shop in
            let order = try await shop.openOrder(as: "u1")
            let genuine = try await shop.pay(token: order).signed
            let other = try await shop.pay(Shop.points300, token: nil).signed
            let harmed = HarmedToken(genuine, other: other, seed: 11).all
            #expect(harmed.count >= 200)
            for (harm, token) in harmed {
                // Verification of unknown signers is rate limited (`UnknownSigners`).
                shop.time.advance(seconds: 1)
                let reply = try await shop.submit(token, as: .user("u1"), orderID: order)
                #expect(reply.status == 422, "\(harm)")
                #expect(Self.codes.contains(reply.code), "\(harm): \(reply.code)")
                #expect(reply["retryable"] == false && reply["finish"] != true, "\(harm)")
            }
            try await Self.expectNothing(shop)
            #expect(try await shop.status(of: order) == "prepared")
            // After all of these the genuine one is still granted, once.
            #expect(try await shop.submit(genuine, as: .user("u1"), orderID: order)["outcome"].text == "granted")
            #expect(try await shop.grantCount() == 1)
        }
    }

    @Test("Damaged notifications are 4xx with a stable code, and nothing is stored (P9)")
    func notifications() async throws {
        try await Shop.open { shop in
            let genuine = try await shop.notification(of: try await shop.openOrder(as: "u1"))
            let other = try await shop.notification(of: try await shop.openOrder(as: "u2"))
            let harmed = HarmedToken(genuine, other: other, seed: 12).all
            #expect(harmed.count >= 200)
            for (harm, token) in harmed {
                shop.time.advance(seconds: 1)
                let reply = try await shop.send(
                    .post, "/v1/notifications/apple", ["signedPayload": .string(token)], as: .anonymous)
                #expect((400..<500).contains(reply.status), "\(harm): \(reply.status)")
                #expect(Self.codes.contains(reply.code), "\(harm): \(reply.code)")
            }
            try await Self.expectNothing(shop)
            let reply = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(genuine)], as: .anonymous)
            #expect(reply.status == 200)
        }
    }

    @Test("Damaged receipts are refused or unchanged in meaning; none grants a purchase that was not made (P9)")
    func receipts() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let order = try await shop.openOrder(as: "u1")
            let receipt = try #require(Base64.decode(payment.receipt))
            var generator = SequenceOfNumbers(state: 13)
            // The signed content starts at the octet string. Before it are lists of algorithms and lengths.
            let start = try #require(receipt.firstIndex(of: 0x31))
            for number in 0..<150 {
                var harmed = receipt
                let harm: String
                switch number % 3 {
                case 0:
                    let bit = Int.random(in: (start + 60) * 8..<(start + 300) * 8, using: &generator)
                    harmed[bit >> 3] ^= 1 << UInt8(bit & 7)
                    harm = "bit \(bit) flipped"
                case 1:
                    let count = Int.random(in: 0..<receipt.count, using: &generator)
                    harmed = Array(receipt[..<count])
                    harm = "cut after \(count)"
                default:
                    let at = Int.random(in: 0..<receipt.count - 8, using: &generator)
                    for index in at..<at + 8 { harmed[index] = UInt8.random(in: 0...255, using: &generator) }
                    // In the enclosed root, or in a list of algorithms, the change has no effect.
                    guard (start + 60..<start + 300).contains(at) else { continue }
                    harm = "eight octets at \(at) replaced"
                }
                let body: JSONValue = [
                    "receipt": .string(Base64.encode(harmed)), "transactionId": .string(payment.id),
                    "productId": .string(Shop.points60), "orderId": .string(order.description),
                ]
                let reply = try await shop.send(.post, "/v1/transactions", body, as: .user("u1"))
                #expect((400..<500).contains(reply.status), "\(harm): \(reply.status)")
                #expect(Self.codes.contains(reply.code), "\(harm): \(reply.code)")
            }
            try await Self.expectNothing(shop)
        }
    }

    private static func expectNothing(_ shop: Shop) async throws {
        let counts: [SQL] = [
            "SELECT count(*) AS count FROM grants", "SELECT count(*) AS count FROM transactions",
            "SELECT count(*) AS count FROM postings",
            "SELECT count(*) AS count FROM notifications",
        ]
        for count in counts {
            let rows = try await shop.ledger.read { connection in
                try connection.first(count, []) { $0.integer("count") }
            }
            #expect(rows == 0, "\(count)")
        }
        #expect(try await shop.points(of: "u1") == 0)
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct SequenceOfNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// The changes that an attacker can make to a token without its signer's key.
struct HarmedToken {
    private(set) var all: [(harm: String, token: String)] = []

    init(_ genuine: String, other: String, seed: UInt64) {
        let parts = genuine.split(separator: ".").map(String.init)
        let others = other.split(separator: ".").map(String.init)
        let octets = parts.map { Base64.decode($0, .url) ?? [] }
        addFlips(Array(genuine.utf8), octets, seed)
        for (name, alg) in ["none", "NONE", "nOnE", "HS256", "RS256", "ES384", "ES256K", ""].map({ ("alg \($0)", $0) })
        {
            let header = String(decoding: octets[0], as: UTF8.self).replacingOccurrences(of: "ES256", with: alg)
            let text = Base64.encode(Array(header.utf8), .url)
            let input = Array("\(text).\(parts[1])".utf8)
            let code = Base64.encode(HMACSHA256.code(for: input, key: octets[0]), .url)
            for (seal, signature) in [("as it was", parts[2]), ("none", ""), ("an HMAC", code)] {
                all.append(("\(name), signature \(seal)", "\(text).\(parts[1]).\(signature)"))
            }
        }
        addLists(octets, parts)
        all += [
            ("payload of another", "\(parts[0]).\(others[1]).\(parts[2])"),
            ("signature of another", "\(parts[0]).\(parts[1]).\(others[2])"), ("two parts", "\(parts[0]).\(parts[1])"),
            ("four parts", "\(genuine).\(parts[2])"), ("padding", genuine + "="), ("a line feed", genuine + "\n"),
            ("a blank", genuine + " "), ("a byte order mark", "\u{FEFF}" + genuine), ("a NUL", genuine + "\u{0}"),
            ("twice", genuine + genuine),
            ("zero signature", "\(parts[0]).\(parts[1]).\(Base64.encode(Self.zeros, .url))"),
            ("no payload", "\(parts[0])..\(parts[2])"), ("nested lists", String(repeating: "[", count: 50_000)),
        ]
    }

    private static let zeros = [UInt8](repeating: 0, count: 64)

    private mutating func addFlips(_ text: [UInt8], _ octets: [[UInt8]], _ seed: UInt64) {
        var generator = SequenceOfNumbers(state: seed)
        for _ in 0..<60 {
            let bit = Int.random(in: 0..<text.count * 8, using: &generator)
            var flipped = text
            flipped[bit >> 3] ^= 1 << UInt8(bit & 7)
            // JSON carries text: an octet outside ASCII would not arrive unchanged.
            guard flipped[bit >> 3] < 0x80 else { continue }
            all.append(("bit \(bit) of the text", String(decoding: flipped, as: UTF8.self)))
        }
        for part in 0..<3 {
            for _ in 0..<35 {
                var harmed = octets
                let bit = Int.random(in: 0..<octets[part].count * 8, using: &generator)
                harmed[part][bit >> 3] ^= 1 << UInt8(bit & 7)
                all.append(
                    ("bit \(bit) of part \(part)", harmed.map { Base64.encode($0, .url) }.joined(separator: ".")))
            }
        }
    }

    private mutating func addLists(_ octets: [[UInt8]], _ parts: [String]) {
        guard let header = try? JSONValue(decoding: octets[0]), let chain = header["x5c"]?.array, chain.count == 3
        else {
            return
        }
        let lists: [(String, JSONValue)] = [
            ("none", []), ("one", [chain[0]]), ("two", .array(Array(chain[..<2]))),
            ("four", .array(chain + [chain[2]])),
            ("reversed", .array(chain.reversed())), ("leaf thrice", [chain[0], chain[0], chain[0]]),
            ("numbers", [1, 2, 3]),
            ("text", chain[0]), ("null", nil), ("empty texts", ["", "", ""]),
        ]
        for (name, list) in lists {
            let changed: JSONValue = ["alg": "ES256", "x5c": list]
            let text = Base64.encode(Array(changed.encoded().utf8), .url)
            all.append(("x5c \(name)", "\(text).\(parts[1]).\(parts[2])"))
        }
    }
}
