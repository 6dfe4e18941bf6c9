import TillBilling
import TillCrypto
import TillJSON
import TillLedger

/// What can be shown of a stored proof without showing the proof.
struct ProofFacts: Sendable {
    let kind: ProofTable.Kind
    /// Bytes.
    let size: Int
    let sha256: [UInt8]
    /// What Apple signed, by name; empty for a receipt. It was verified before it was stored.
    let claims: [(name: String, value: JSONValue)]

    /// More members than Apple has ever signed.
    static let claimLimit = 100

    init(kind: ProofTable.Kind, body: [UInt8]) {
        self.kind = kind
        size = body.count
        sha256 = Digest.sha256.hash(body)
        claims = kind == .signedTransaction ? Self.claims(body) : []
    }

    private static func claims(_ body: [UInt8]) -> [(name: String, value: JSONValue)] {
        guard let payload = CompactToken(body)?.payload, let members = (try? JSONValue(decoding: payload))?.object
        else {
            return []
        }
        return members.sorted { $0.key < $1.key }.prefix(claimLimit).map { ($0.key, $0.value) }
    }

    /// A claim's value as text, and the moment it stands for, if it does.
    static func shown(_ name: String, _ value: JSONValue) -> (text: String, moment: Instant?) {
        switch value {
        case .string(let text): (text, nil)
        // Apple's times are milliseconds, and are called so (facts/jws §1).
        case .int(let number) where name.hasSuffix("Date"):
            (String(number), Instant.readable.contains(number) ? Instant(milliseconds: number) : nil)
        default: (value.encoded(), nil)
        }
    }
}

extension Instant {
    /// Milliseconds that fall into the years 1970 to 9999, which RFC 3339 can write.
    fileprivate static let readable: Range<Int64> = 0..<253_402_300_800_000
}
