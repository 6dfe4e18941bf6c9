import Testing
import TillBilling

/// The expected values come from Python's hashlib.
@Suite struct OrderIDCommitmentTests {
    @Test(
        "SHA-256 agrees with another implementation around its block boundaries",
        arguments: [
            (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
            (1_000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ])
    func digest(count: Int, expected: String) {
        #expect(Self.hex(SHA256.digest(Array(repeating: UInt8(ascii: "a"), count: count))) == expected)
    }

    @Test(
        "An order id is the commitment that LEDGER R1 defines",
        arguments: [
            ("ann", "8bb410d3-0645-8849-a0c5-03ceda0330da"), ("karl", "81861279-cb25-853f-9e7c-f2eb1dce4da0"),
            ("用户", "1ac0543f-52f0-816e-8874-ed2ad4969255"),
        ])
    func commitment(user: String, expected: String) throws {
        let nonce = try #require(OrderIDNonce(bytes: Array(0..<16)))
        #expect(OrderIDCommitment(user: UserID(user), nonce: nonce).id.description == expected)
    }

    @Test("A user id that looks like another one commits to a different order id")
    func twins() throws {
        let nonce = try #require(OrderIDNonce(bytes: Array(0..<16)))
        let twin = OrderIDCommitment(user: UserID("\u{212A}arl"), nonce: nonce)
        #expect(twin.id.description == "3584bd1b-8728-8058-a693-83ff43b09df1")
        #expect(twin.id != OrderIDCommitment(user: UserID("Karl"), nonce: nonce).id)
    }

    @Test("An app's own order number is the nonce of its user's id")
    func orderNumber() {
        let ann = OrderIDCommitment(user: UserID("ann"), orderNumber: "2013-07-A 17")
        #expect(ann.id.description == "38815022-49be-84c7-9e1b-2c497f7e14bc")
        #expect(OrderIDCommitment(user: UserID("ben"), orderNumber: "2013-07-A 17").id != ann.id)
    }

    @Test("A nonce is 32 hexadecimal digits; any other text is none")
    func nonceText() throws {
        let nonce = try #require(OrderIDNonce("000102030405060708090A0b0c0d0e0f"))
        #expect(nonce.text == "000102030405060708090a0b0c0d0e0f")
        #expect(nonce == OrderIDNonce(bytes: Array(0..<16)))
        for text in [
            "", "00", "000102030405060708090a0b0c0d0e0", "000102030405060708090a0b0c0d0e0g",
            " 00102030405060708090a0b0c0d0e0f",
        ] {
            #expect(OrderIDNonce(text) == nil)
        }
        #expect(OrderIDNonce(bytes: Array(0..<15)) == nil)
    }

    @Test("The nil and the max UUID name no order")
    func absent() throws {
        #expect(try #require(UniqueID("00000000-0000-0000-0000-000000000000")).isAbsent)
        #expect(try #require(UniqueID("FFFFFFFF-ffff-ffff-ffff-ffffffffffff")).isAbsent)
        #expect(try !#require(UniqueID("00000000-0000-0000-0000-000000000001")).isAbsent)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
    }
}
