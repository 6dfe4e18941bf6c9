import Testing
import TillCrypto

@Suite("Hashes, codes and comparisons are the standard ones")
struct DigestTests {
    @Test("SHA-1 and SHA-256 match the FIPS 180 examples")
    func hashes() {
        #expect(hexadecimal(Digest.sha1.hash(Array("abc".utf8))) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hexadecimal(Digest.sha1.hash([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(
            hexadecimal(Digest.sha256.hash(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hexadecimal(Digest.sha256.hash([]))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test("HMAC-SHA256 matches RFC 4231, cases 1, 2 and 6")
    func codes() {
        let long = [UInt8](repeating: 0xAA, count: 131)
        let cases: [([UInt8], String, String)] = [
            (
                [UInt8](repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                long, "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
        for (key, message, code) in cases {
            let made = HMACSHA256.code(for: message.utf8, key: key)
            #expect(hexadecimal(made) == code)
            #expect(HMACSHA256.isValid(made, for: message.utf8, key: key))
            #expect(!HMACSHA256.isValid(made.dropLast(), for: message.utf8, key: key))
            #expect(!HMACSHA256.isValid(made, for: (message + " ").utf8, key: key))
        }
        let empty = HMACSHA256.code(for: [], key: [])
        #expect(hexadecimal(empty) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test("Equal means equal in length and in every byte")
    func comparison() {
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        #expect(constantTimeEqual([], []))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
    }

    @Test("Random bytes come in the requested number, and never the same twice")
    func randomness() {
        #expect(RandomBytes.make(0).isEmpty)
        #expect(RandomBytes.make(33).count == 33)
        #expect(RandomBytes.make(32) != RandomBytes.make(32))
    }
}
