import Testing
import TillCrypto

/// The examples of RFC 7515, appendix A.
private enum Example {
    static let hs256 =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
        + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
        + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let secret = Base64.decode(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow", .url)
    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9."
        + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
        + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    private static let x = Base64.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", .url) ?? []
    private static let y = Base64.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", .url) ?? []
    /// SubjectPublicKeyInfo of an uncompressed point on P-256 (RFC 5480).
    static let keyDER: [UInt8] =
        [0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04] + x + y
}

@Suite("Compact tokens are parsed and verified")
struct CompactTokenTests {
    @Test("RFC 7515's ES256 token has a valid signature by its key, and an altered token has not")
    func es256() throws {
        let key = try #require(PublicKey(der: Example.keyDER))
        #expect(key.isP256 && !key.isRSA)
        #expect(key.der == Example.keyDER)
        let token = try #require(CompactToken(Example.es256))
        #expect(token.header.map { String(decoding: $0, as: UTF8.self) } == #"{"alg":"ES256"}"#)
        #expect(token.payload.first == UInt8(ascii: "{"))
        #expect(token.signature.count == 64)
        #expect(token.isSigned(by: key))
        let altered = Example.es256.replacing("eyJpc3MiOiJqb2Ui", with: "eyJpc3MiOiJqb2Uj")
        #expect(CompactToken(altered)?.isSigned(by: key) == false)
        #expect(CompactToken(Example.hs256)?.isSigned(by: key) == false)
    }

    @Test("A key can be read from PEM")
    func pem() throws {
        let text = PEM.encode(Example.keyDER, label: "PUBLIC KEY")
        #expect(PublicKey(pem: text)?.der == Example.keyDER)
        #expect(PublicKey(pem: text.replacing("PUBLIC", with: "PRIVATE")) == nil)
        #expect(PublicKey(der: Example.keyDER + [0]) == nil)
        #expect(PublicKey(der: Array(Example.keyDER.dropLast())) == nil)
        #expect(PublicKey(der: []) == nil)
    }

    @Test("RFC 7515's HS256 token is valid under its own secret only")
    func hs256() throws {
        let secret = try #require(Example.secret)
        let token = try #require(CompactToken(Example.hs256))
        #expect(token.isAuthenticated(by: secret))
        #expect(!token.isAuthenticated(by: secret + [0x31]))
        #expect(CompactToken(Example.es256)?.isAuthenticated(by: secret) == false)
        #expect(CompactToken(Example.es256)?.isAuthenticated(by: Example.keyDER) == false, "a public key is no secret")
    }

    @Test("A prepared verifier checks many messages independently")
    func prepared() throws {
        let key = try #require(PublicKey(der: Example.keyDER))
        let token = try #require(CompactToken(Example.es256))
        let verifier = try #require(ES256Verifier(key: key, messagePrefix: Array(token.headerPrefix)))
        for _ in 0..<3 {
            #expect(token.isSigned(accordingTo: verifier))
            #expect(!verifier.isValid(signature: token.signature, message: [1, 2, 3]))
            #expect(!verifier.isValid(signature: [UInt8](repeating: 0, count: 64), message: []))
            #expect(!verifier.isValid(signature: [], message: []))
        }
    }

    @Test(
        "A text other than three strict segments is no token",
        arguments: ["", ".", "..x", "a.b", "e30.e30", "e30.e30.AA.AA", "e30.e30=.AA", "e30.e 0.AA", "e30.e30.AAA\n"])
    func refused(text: String) {
        #expect(CompactToken(text) == nil)
    }
}
