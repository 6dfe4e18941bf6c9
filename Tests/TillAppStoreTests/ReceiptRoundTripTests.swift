import Testing
import TillBilling
import TillCrypto

@testable import TillAppStore

@Suite("Receipts are written as they were read")
struct ReceiptRoundTripTests {
    @Test("A content with known, unknown, repeated and unusual attributes keeps its order and versions")
    func generated() throws {
        var generator = SeededGenerator(state: 3)
        for _ in 0..<200 {
            // Attributes that decisions depend on may appear only once.
            var once: Set<Int64> = [0, 2, 3, 12, 19]
            let attributes = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                attribute(&generator, &once)
            }
            let content = TestASN1.set(attributes)
            let payload = try ReceiptPayload(content)
            let again = try ReceiptPayload(payload.encoded())
            #expect(again == payload)
            #expect(again.attributes.count == attributes.count)
            // The tests' own DER does not use the shortest form for long lengths.
            if attributes.flatMap({ $0 }).count < 0x80 { #expect(payload.encoded() == content) }
        }
    }

    private func attribute(_ generator: inout SeededGenerator, _ once: inout Set<Int64>) -> [UInt8] {
        let types: [Int64] = [1, 6, 8, 9, 10, 13, 15, 22, 25, 1_000, 70_000, -4] + once.sorted()
        let type = types.randomElement(using: &generator) ?? 1
        once.remove(type)
        let version = Int64.random(in: 0...300, using: &generator)
        let value: [UInt8] =
            switch type {
            case 0, 2, 3, 10, 19: TestASN1.utf8("text \(version)")
            case 8, 12: TestASN1.ia5("2025-06-01T00:00:00Z")
            case 1, 9, 13, 15, 25: TestASN1.integer(version << 40)
            default: (0..<Int.random(in: 0...200, using: &generator)).map { _ in UInt8(truncatingIfNeeded: version) }
            }
        let fields = TestASN1.integer(type) + TestASN1.integer(version) + TestASN1.element(0x04, value)
        return TestASN1.element(0x30, fields)
    }

    @Test(
        "The contents of real receipts survive octet by octet where they are DER",
        .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
    func shared() throws {
        var (same, purchases) = (0, 0)
        for row in SharedVectors.rows where row.format == "p7-der" || row.format == "p7-b64" {
            let bytes = row.format == "p7-der" ? row.bytes : Base64.decode(row.bytes.filter { $0 > 0x20 }) ?? []
            guard let message = try? SignedMessage(bytes), let payload = try? ReceiptPayload(message.content) else {
                continue
            }
            #expect(try ReceiptPayload(payload.encoded()) == payload, "\(row.id)")
            if payload.encoded() == message.content { same += 1 }
            for purchase in payload.purchases {
                #expect(try ReceiptPurchase(purchase.encoded()[...]) == purchase)
                purchases += 1
            }
        }
        #expect(same >= 15 && purchases >= 60, "\(same) receipts, \(purchases) purchases")
    }

    @Test("Every attribute that Apple is known to write has a name here, and the others are passed through")
    func everyType() throws {
        let nameless: [Int64] = [22, 23, 24]
        for type in Array(0...25) as [Int64] {
            let bare = try ReceiptPayload(TestASN1.set([]))
            let payload = try ReceiptPayload(TestASN1.set([TestASN1.attribute(type, Self.sample(type))]))
            #expect(payload.attributes.map(\.type) == [type] && payload.attributes[0].version == 1)
            #expect(Self.isNamed(payload, bare) != nameless.contains(type), "type \(type)")
        }
        for type in Array(1_701...1_722) as [Int64] {
            let bare = try ReceiptPurchase(TestASN1.set([])[...])
            let purchase = try ReceiptPurchase(TestASN1.set([TestASN1.attribute(type, Self.sample(type))])[...])
            #expect(purchase.attributes.map(\.type) == [type])
            #expect(Self.isNamed(purchase, bare) != (type == 1_720), "type \(type)")
        }
    }

    /// A value in the inner encoding that facts/pkcs7-receipt §3 lists for the type.
    static func sample(_ type: Int64) -> [UInt8] {
        switch type {
        case 1, 9, 11, 13...16, 25, 1_701, 1_707, 1_710, 1_711, 1_713, 1_719, 1_722: TestASN1.integer(7)
        case 4...7: [1, 2, 3]
        case 8, 12, 18, 21, 1_704, 1_706, 1_708, 1_712: TestASN1.ia5("2025-06-01T00:00:00Z")
        case 17: TestASN1.set([])
        default: TestASN1.utf8("text")
        }
    }

    /// Whether a property other than the list of all attributes differs.
    private static func isNamed(_ one: Any, _ other: Any) -> Bool {
        zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children).contains { left, right in
            left.label != "attributes" && "\(left.value)" != "\(right.value)"
        }
    }

    @Test("An old-style receipt is written with every line it had")
    func oldStyle() throws {
        let inner =
            "{\n\t\"transaction-id\" = \"7\";\n\t\"purchase-date-ms\" = \"1340000000000\";\n\t\"new\" = \"thing\";\n}"
        let text =
            "{\n\t\"signature\" = \"AA==\";\n\t\"purchase-info\" = \"\(Base64Text.encode(inner))\";\n"
            + "\t\"pod\" = \"100\";\n\t\"pod\" = \"17\";\n}"
        let receipt = try #require(OldStyleReceipt(Array(text.utf8)))
        #expect(String(decoding: receipt.encoded(), as: UTF8.self) == text)
        #expect(String(decoding: receipt.purchase.encoded(), as: UTF8.self) == inner)
        #expect(receipt.unsigned == ["pod": "17"] && receipt.purchase.lines["new"] == "thing")
        #expect(receipt.purchase.purchaseDate?.milliseconds == 1_340_000_000_000)
        #expect(OldStyleReceipt(receipt.encoded()) == receipt)
    }
}
