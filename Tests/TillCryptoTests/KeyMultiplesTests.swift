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

    /// The generator as a key: its private number is 1, so with k = 1 a signature is (x, hash + x).
    @Test("The key's part of the sum may be the generator's part or its negation")
    func meetingParts() throws {
        let accepts = try check(Self.key(Self.generator.x, Self.generator.y))
        let x = Self.generator.x
        let twice = combine(x, x, 1)
        #expect(accepts(x + twice, x), "both parts are the half of the generator")
        #expect(!accepts(x + twice, combine(x, [UInt8](repeating: 0, count: 31) + [1], 1)))
        let negated = combine(Self.order, x, -1)
        for s in [x, twice, negated] {
            #expect(!accepts(x + s, negated), "the sum of the parts is infinity")
        }
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(accepts(x + x, zero), "the generator's part is infinity")
        #expect(accepts(x + x, Self.order), "a hash counts modulo the order")
    }

    /// Computed apart from Till: a key with which the sum for r = 3, s = 1 and the hash 0 is a point whose x coordinate
    /// is 3 more than the order.
    @Test("The x coordinate counts modulo the order")
    func largeCoordinate() throws {
        let x: [UInt8] = [
            0x02, 0xBC, 0x84, 0x7E, 0x19, 0xEB, 0xBE, 0x40, 0xA3, 0x67, 0xCE, 0xD6, 0x48, 0x06, 0x85, 0x11, 0xBB, 0xC2,
            0x4D, 0xBA, 0x56, 0x32, 0x2F, 0xD5, 0x28, 0x85, 0x60, 0x4E, 0xDD, 0xC0, 0x9E, 0xAF,
        ]
        let y: [UInt8] = [
            0x81, 0x55, 0x56, 0xA7, 0xB1, 0xBB, 0x4D, 0x14, 0xF4, 0xF4, 0x21, 0x97, 0xDA, 0xF6, 0x2B, 0x07, 0xC1, 0xF3,
            0x0F, 0xFB, 0xBD, 0x9D, 0xF1, 0x50, 0x47, 0xF2, 0xB2, 0x9C, 0x56, 0xDA, 0x40, 0x5E,
        ]
        let accepts = try check(Self.key(x, y))
        let zero = [UInt8](repeating: 0, count: 32)
        func number(_ value: UInt8) -> [UInt8] { Array(zero.dropLast()) + [value] }
        #expect(accepts(number(3) + number(1), zero))
        #expect(!accepts(number(2) + number(1), zero))
        #expect(!accepts(number(3) + number(2), zero))
    }

    private static func key(_ x: [UInt8], _ y: [UInt8]) throws -> PublicKey {
        let curve: [UInt8] = [0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
        let algorithm = DERWriter.sequence([0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1], curve)
        return try #require(PublicKey(der: DERWriter.sequence(algorithm, [0x03, 66, 0] + [4] + x + y)))
    }

    /// Checks signatures of digests.
    private func check(_ key: PublicKey) throws -> ([UInt8], [UInt8]) -> Bool {
        let multiples = try #require(KeyMultiples(of: key))
        let scratch = try #require(KeyMultiples.Scratch(for: multiples))
        return { signature, digest in
            digest.withUnsafeBufferPointer { digest in
                digest.baseAddress.map { multiples.accepts(signature, of: $0, scratch) } ?? false
            }
        }
    }

    private static let generator: (x: [UInt8], y: [UInt8]) = (
        [
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
            0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
        ],
        [
            0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE,
            0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
        ]
    )

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
