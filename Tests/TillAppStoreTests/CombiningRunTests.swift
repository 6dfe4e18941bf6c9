import Testing
import TillCrypto

@testable import TillAppStore
@testable import TillJSON

/// Swift puts a text into canonical order before it hashes or compares it, in time quadratic in its longest run of
/// combining marks: a key of 160 KB took half a minute, and any client can send one.
@Suite("Runs of combining marks are bounded in all incoming text")
struct CombiningRunTests {
    /// Two classes in the wrong order, so that Swift has something to sort.
    private static func marks(_ count: Int) -> String {
        String(repeating: "\u{300}", count: count / 2) + String(repeating: "\u{316}", count: count - count / 2)
    }

    @Test("A megabyte of marks is refused at once, as key, as value, raw and escaped")
    func megabyte() throws {
        let raw = Self.marks(500_000)
        let escaped = String(repeating: #"\u0300\u0316"#, count: 80_000)
        let texts = [raw, escaped].flatMap { ["{\"e\($0)\":1}", "{\"a\":\"e\($0)\"}", "{\"a\":[{\"e\($0)\":1}]}"] }
        let clock = ContinuousClock()
        for text in texts {
            let bytes = Array(text.utf8)
            let spent = clock.measure {
                #expect(throws: JSONError.tooManyMarks) { try JSONValue(decoding: bytes) }
                #expect(throws: JSONError.tooManyMarks) { try JSONObject(bytes) }
            }
            #expect(spent < .seconds(5), "\(bytes.count) bytes took \(spent)")
        }
    }

    @Test("An unsigned token whose header or payload is a run of marks is refused at once")
    func tokens() throws {
        let verifier = try TestAuthority().verifier()
        let json = Array("{\"e\(Self.marks(180_000))\":1,\"x5c\":[1,2,3]}".utf8)
        let notification = Array(TestPayloads.notification().encoded().utf8)
        let clock = ContinuousClock()
        for (header, payload) in [(json, notification), (notification, json)] {
            let token = Base64.encode(header, .url) + "." + Base64.encode(payload, .url) + ".AAAA"
            let spent = clock.measure { #expect(refusal { try verifier.notification(token) } == .malformed) }
            #expect(spent < .seconds(5), "\(token.utf8.count) bytes took \(spent)")
        }
    }

    @Test(
        "Thirty marks in a row are read, thirty-one are not",
        arguments: ["\u{300}", "\u{316}", "\u{F73}", "\u{344}", "\u{3099}", "\u{1D165}"])
    func limit(mark: String) {
        for (count, isRead) in [(30, true), (31, false)] {
            let text = "[\"e" + String(repeating: mark, count: count) + "\"]"
            #expect(((try? JSONValue(decoding: text)) != nil) == isRead)
        }
    }

    @Test("No language is refused", arguments: ["学点 60 点", "Việt Nam", "שָׁלוֹם", "ประเทศไทย", "한국어", "👩‍👩‍👧‍👦", "Z̷̢͍a̴l̶g̸o̵"])
    func languages(text: String) throws {
        let json = try JSONValue(decoding: JSONValue.array([.string(text)]).encoded())
        #expect(json == [.string(text)])
    }

    @Test("Old-style receipts and texts in receipts are bounded too")
    func receipts() throws {
        let info = Base64.encode(Array("\"e\(Self.marks(100))\" = \"v\";".utf8))
        #expect(OldStyleReceipt(Array("{ \"purchase-info\" = \"\(info)\"; }".utf8)) == nil)
        let text = DERWriter.utf8String("e" + Self.marks(100))
        #expect(throws: VerificationError.self) { try ASN1Reader.text(ASN1Reader.single(text[...])) }
    }
}
