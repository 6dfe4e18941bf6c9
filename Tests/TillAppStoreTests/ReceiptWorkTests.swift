import Testing
import TillCrypto

@testable import TillAppStore

@Suite("The work on a receipt is proportional to its size")
struct ReceiptWorkTests {
    private static let rsa = TestAuthority(keys: .rsa)

    /// The list of digest algorithms is not signed, so any client can lengthen it around Apple's genuine certificates.
    /// `CMS_verify` hashes the content once for each, with nested calls: twenty thousand take seconds, three hundred
    /// thousand more than five minutes.
    @Test("Two hundred thousand digest algorithms around a genuine chain are answered quickly")
    func digests() throws {
        let genuine = Self.rsa.receipt(TestReceipts.content())
        let padded = try Self.with(digests: 200_000, in: genuine)
        let verifier = try Self.rsa.verifier()
        #expect(refusal { try verifier.receipt(genuine) } == nil)
        let clock = ContinuousClock()
        let spent = clock.measure { _ = refusal { try verifier.receipt(padded) } }
        #expect(spent < .seconds(5), "\(padded.count) bytes took \(spent)")
        var altered = padded
        altered[altered.count - 1] ^= 1
        #expect(refusal { try verifier.receipt(altered) } == .badSignature)
    }

    /// The same message with its one digest algorithm listed so many times.
    private static func with(digests count: Int, in receipt: [UInt8]) throws -> [UInt8] {
        var outer = ASN1Reader(try ASN1Reader.single(receipt[...]).content)
        let type = try outer.next()
        var fields = ASN1Reader(try ASN1Reader.single(outer.next(0xA0).content).content)
        var parts: [[UInt8]] = []
        while !fields.isAtEnd {
            let field = try fields.next()
            let content =
                parts.count == 1 ? Array(repeatElement(field.content, count: count).joined()) : Array(field.content)
            parts.append(DERWriter.value(tag: field.tag, content))
        }
        let data = DERWriter.value(tag: 0x30, parts.flatMap { $0 })
        return DERWriter.sequence(
            DERWriter.value(tag: type.tag, Array(type.content)), DERWriter.value(tag: 0xA0, data))
    }
}
