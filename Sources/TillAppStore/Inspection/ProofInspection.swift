import TillBilling
import TillCrypto

/// What can be said of any proof of Apple's: its kind, the verdict on it, and everything read from it, checked or not.
/// It is for people and scripts; nothing can be granted on it.
public struct ProofInspection: Sendable {
    public enum Kind: String, Sendable {
        case transaction = "jws-transaction"
        case renewal = "jws-renewal"
        case appTransaction = "jws-apptransaction"
        case notification = "jws-notification"
        case receipt = "pkcs7-receipt"
        case oldStyleReceipt = "old-style-receipt"
        /// Too damaged to tell.
        case unknown
    }

    public internal(set) var kind: Kind
    /// A code of `Verdict`; or `ok-unverified` for what was decoded without trust, or `extract-only` for an
    /// old-style receipt whose signature is not of Apple's format.
    public internal(set) var verdict = Verdict.ok.rawValue
    /// For people.
    public internal(set) var detail = ""
    /// What was read until the verdict fell, under stable names.
    public internal(set) var fields: [String: JSONValue] = [:]

    static let okUnverified = "ok-unverified"
    static let extractOnly = "extract-only"

    init(_ kind: Kind) { self.kind = kind }

    /// Whether the proof passed every check that was asked for. What was only decoded did not.
    public var isOK: Bool { verdict == Verdict.ok.rawValue }

    /// `{"kind", "verdict", "detail", "fields"}` (CONTRACT §1).
    public var json: JSONValue {
        [
            "kind": .string(kind.rawValue), "verdict": .string(verdict), "detail": .string(detail),
            "fields": .object(fields),
        ]
    }

    /// Recognises and checks a proof: a JWS; an app receipt as DER, PEM or base64; an old-style receipt as text or
    /// base64. White space around text means nothing.
    public static func inspect(_ bytes: [UInt8], policy: InspectionPolicy) -> ProofInspection {
        // DER begins with the byte of the character 0, which no JWS or base64 of ours begins with.
        if bytes.first == 0x30, bytes.count > 1, bytes[1] & 0x80 != 0 { return receipt(bytes, policy) }
        let text = ProofText.trimmed(bytes)
        if text.contains(UInt8(ascii: ".")), text.allSatisfy(isTokenCharacter) { return token(text, policy) }
        if text.starts(with: "-----BEGIN ".utf8) {
            for label in ["PKCS7", "CMS", "PKCS #7 SIGNED DATA"] {
                if let der = PEM.decode(String(decoding: text, as: UTF8.self), label: label) {
                    return receipt(der, policy)
                }
            }
            return refused(.receipt, .malformed, "PEM")
        }
        if text.first == UInt8(ascii: "{") { return oldStyleReceipt(text, policy) }
        guard let decoded = Base64.decode(text.filter { !ProofText.isBlank($0) }), let first = decoded.first else {
            return refused(text.isEmpty ? .unknown : .receipt, .malformed, "neither DER, PEM, base64 nor JWS")
        }
        let isOldStyle = first != 0x30 && decoded.withUnsafeBufferPointer(JSONText.isUTF8)
        return isOldStyle ? oldStyleReceipt(decoded, policy) : receipt(decoded, policy)
    }

    private static func isTokenCharacter(_ unit: UInt8) -> Bool {
        switch unit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    static func refused(_ kind: Kind, _ verdict: Verdict, _ detail: String) -> ProofInspection {
        var inspection = ProofInspection(kind)
        inspection.verdict = verdict.rawValue
        inspection.detail = detail
        return inspection
    }

    /// Runs checks that add to the fields as they go; the first failure becomes the verdict.
    static func judged(
        _ inspection: inout ProofInspection,
        _ checks: (inout ProofInspection) throws(VerificationFailure) -> Void
    ) {
        do throws(VerificationFailure) {
            try checks(&inspection)
        } catch {
            inspection.verdict = error.verdict.rawValue
            inspection.detail = error.detail
        }
    }

    /// A list of certificates alone, checked as the `x5c` of a JWS would be: base64 leaf, intermediate, anything.
    ///
    /// - Parameters:
    ///   - root: base64 of the one trusted root.
    ///   - seconds: the effective date, since 1970.
    public static func chain(x5c: [String], root: String, at seconds: Int64, isStrict: Bool) -> ProofInspection {
        var inspection = ProofInspection(.unknown)
        judged(&inspection) { inspection throws(VerificationFailure) in
            guard let anchor = Base64.decode(root) else { throw VerificationFailure(.badRoot, "base64") }
            let trust = SignedDataVerifier.trustStore(roots: [anchor], isStrict: isStrict)
            let chain = try SigningChain(x5c: x5c.map(JSONValue.string), trust: trust, at: seconds)
            inspection.fields["leafPublicKey"] = .string(Base64.encode(chain.leaf.publicKey?.der ?? []))
        }
        return inspection
    }
}

/// Lower-case hexadecimal, two digits a byte.
func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] }, as: UTF8.self)
}
