import Testing
import TillCrypto

@Suite("Base64 is read strictly")
struct Base64Tests {
    @Test(
        "The texts of RFC 4648 §10 decode to their bytes, in both alphabets",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func knownTexts(plain: String, encoded: String) {
        let unpadded = encoded.filter { $0 != "=" }
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.encode(Array(plain.utf8), .url) == unpadded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        #expect(Base64.decode(unpadded, .url) == Array(plain.utf8))
    }

    @Test("The alphabets are not mixed")
    func alphabets() {
        #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
        #expect(Base64.encode([0xFB, 0xFF, 0xBF], .url) == "-_-_")
        #expect(Base64.decode("+/+/", .url) == nil)
        #expect(Base64.decode("-_-_") == nil)
    }

    @Test(
        "Every text other than the canonical one is refused",
        arguments: ["Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z m9v", "Zm9v\n", "Zm9v=", "====", "=", "Z===", "Zm9v*AAA"])
    func refusedPadded(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(
        "Stray bits and padding are refused without padding too",
        arguments: ["Zh", "Zm9", "Zg==", "Z", "Zm9vA", "é"])
    func refusedUnpadded(text: String) {
        #expect(Base64.decode(text, .url) == nil)
    }

    @Test("Every length survives a round trip")
    func roundTrips() {
        for count in 0..<200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes, .url), .url) == bytes)
            for alphabet in [Base64.Alphabet.standard, .url] {
                var text = Array("text ".utf8)
                Base64.append(bytes, alphabet, to: &text)
                #expect(String(decoding: text, as: UTF8.self) == "text " + Base64.encode(bytes, alphabet))
            }
        }
    }
}
