import TillBilling
import TillCrypto
import TillJSON
import TillLedger

/// The facts about a stored proof that can be shown without the proof itself.
struct ProofFacts: Sendable {
    let kind: ProofTable.Kind
    /// Bytes.
    let size: Int
    let sha256: [UInt8]
    /// The members of the payload that Apple signed, by name; empty for a receipt. The proof was verified before it was
    /// stored.
    let claims: [(name: String, value: JSONValue)]

    /// More members than any payload of Apple's has.
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

    /// A member's value as text, and the time it stands for, if it is a time.
    static func shown(_ name: String, _ value: JSONValue) -> (text: String, moment: Instant?) {
        switch value {
        case .string(let text): (text, nil)
        // Apple writes times in milliseconds, in members whose names end in `Date`.
        case .int(let number) where name.hasSuffix("Date"):
            (String(number), Instant.readable.contains(number) ? Instant(milliseconds: number) : nil)
        default: (value.encoded(), nil)
        }
    }
}

extension Instant {
    /// Milliseconds in the years 1970 to 9999, which RFC 3339 can write.
    fileprivate static let readable: Range<Int64> = 0..<253_402_300_800_000
}
