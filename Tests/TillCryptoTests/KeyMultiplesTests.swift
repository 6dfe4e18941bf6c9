import Testing

@testable import TillCrypto

@Suite("Signature checks with a table of a key's multiples")
struct KeyMultiplesTests {
    /// The order of P-256.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
        0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    private struct Signer {
        let key: PrivateKey
        let publicKey: PublicKey
        let multiples: KeyMultiples
        let scratch: KeyMultiples.Scratch

        init() throws {
            key = try PrivateKey.generate(.p256)
            publicKey = try #require(PublicKey(der: key.publicKeyInfo()))
            multiples = try #require(KeyMultiples(of: publicKey))
            scratch = try #require(KeyMultiples.Scratch(for: multiples))
        }

        func accepts(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
            Digest.sha256.hash(message).withUnsafeBufferPointer { digest in
                digest.baseAddress.map { multiples.accepts(signature, of: $0, scratch) } ?? false
            }
        }
    }

    @Test("Every signature of the key is accepted, and none of another key or for another message")
    func ownSignatures() throws {
        let (signer, other) = (try Signer(), try PrivateKey.generate(.p256))
        for number in 0..<200 {
            let message = Array("message \(number)".utf8)
            let signature = try signer.key.signES256(message)
            #expect(signer.accepts(signature, message))
            #expect(!signer.accepts(signature, message + [0]))
            #expect(!signer.accepts(try other.signES256(message), message))
        }
    }

    @Test("A signature with one changed bit is refused, as OpenSSL refuses it")
    func changedBits() throws {
        let signer = try Signer()
        let message = Array("message".utf8)
        let verifier = try #require(ES256Verifier(key: signer.publicKey))
        let signature = try signer.key.signES256(message)
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!signer.accepts(changed, message))
            #expect(!verifier.isValid(signature: changed, message: message))
        }
    }

    /// Bytes of a number without a sign, most significant first, added or subtracted with `order`.
    private func combine(_ left: [UInt8], _ right: [UInt8], _ sign: Int) -> [UInt8] {
        var (result, carry) = (left, 0)
        for index in result.indices.reversed() {
            let value = Int(left[index]) + sign * Int(right[index]) + carry
            result[index] = UInt8(truncatingIfNeeded: value)
            carry = value >> 8
        }
        return result
    }

    @Test("Numbers outside of 1 to the order are refused; the negated s is a signature too")
    func ranges() throws {
        let signer = try Signer()
        let message = Array("message".utf8)
        let signature = try signer.key.signES256(message)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let (zero, most) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32))
        for bad in [zero, Self.order, most] {
            #expect(!signer.accepts(bad + s, message))
            #expect(!signer.accepts(r + bad, message))
            #expect(!signer.accepts(bad + bad, message))
        }
        #expect(signer.accepts(r + combine(Self.order, s, -1), message))
        #expect(!signer.accepts(combine(Self.order, r, -1) + s, message))
        for count in [0, 1, 63, 65, 128] {
            #expect(!signer.accepts([UInt8](repeating: 1, count: count), message))
        }
    }

    @Test("A verifier gets a table after many checks, in one of its threads, and goes on to tell signatures apart")
    func manyChecks() async throws {
        let key = try PrivateKey.generate(.p256)
        let publicKey = try #require(PublicKey(der: key.publicKeyInfo()))
        let verifier = try #require(ES256Verifier(key: publicKey, messagePrefix: [7]))
        let message = Array("message".utf8)
        let signature = try key.signES256([7] + message)
        #expect(!verifier.hasTable)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<ES256Verifier.checksBeforeTable / 4 + 8 {
                        #expect(verifier.isValid(signature: signature, message: message))
                        #expect(!verifier.isValid(signature: signature, message: message + [0]))
                    }
                }
            }
        }
        #expect(verifier.hasTable)
        #expect(verifier.isValid(signature: signature, message: message))
        #expect(!verifier.isValid(signature: signature, message: []))
    }
}
