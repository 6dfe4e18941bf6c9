import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// A token as the store signed it, taken apart. What is in it counts only after `DeviceSession.verify`.
struct SignedText: Sendable, Hashable {
    let jws: String
    let header: Data
    /// JSON, in the schema of facts/jws §4 to §6.
    let payload: Data
    let signature: Data

    /// Nil for what has not three parts of base64url.
    init?(_ jws: String) {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64.decode(parts[0], .url), let payload = Base64.decode(parts[1], .url),
            let signature = Base64.decode(parts[2], .url)
        else { return nil }
        self.jws = jws
        self.header = Data(header)
        self.payload = Data(payload)
        self.signature = Data(signature)
    }

    /// The bytes that the signature covers.
    var signed: Data {
        let bytes = jws.utf8
        return Data(bytes[..<(bytes.lastIndex(of: UInt8(ascii: ".")) ?? bytes.startIndex)])
    }
}

/// What the store signs and StoreKit hands out: a transaction, a renewal, a download.
protocol SignedValue: Sendable {
    associatedtype Payload: WrittenPayload
    /// Lenient: what is missing has a neutral value, because Apple hands out what fails its checks too.
    init(_ payload: Payload, _ text: SignedText)
    /// Asks the verifier about a token of this kind.
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationFailure)
    var signedText: SignedText { get }
    /// What proves that the token was signed for this device; empty where there is none.
    var deviceVerification: Data { get }
    var deviceVerificationNonce: UUID { get }
}

extension SignedValue {
    /// Nil for a payload that is no JSON object at all, or names a member twice.
    init?(_ text: SignedText) {
        guard text.members != nil, let json = try? JSONObject(Array(text.payload)) else { return nil }
        self.init(Payload(lenient: json), text)
    }
}

extension SignedText {
    fileprivate var members: [String: JSONValue]? { (try? JSONValue(decoding: payload))?.object }

    /// What is said, without what every signing makes anew.
    var membersWithoutSigning: [String: JSONValue]? {
        members?.filter { !["signedDate", "deviceVerification", "deviceVerificationNonce"].contains($0.key) }
    }

    /// Nothing where no device asked for the token.
    var deviceProof: (verification: Data, nonce: UUID) {
        let proof = (try? JSONObject(Array(payload))).map { DeviceProofPayload(lenient: $0) }
        let verification = (proof?.verification).flatMap { Data(base64Encoded: $0) }
        return (verification ?? Data(), (proof?.nonce).flatMap { UUID(uuidString: $0) } ?? UUID([]))
    }
}

extension Date {
    init(_ instant: Instant) { self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1_000) }

    static let epoch = Date(timeIntervalSince1970: 0)
}

extension Decimal {
    /// - Parameter milliunits: thousandths of a currency's unit.
    init(milliunits: Int64) {
        self.init(sign: milliunits < 0 ? .minus : .plus, exponent: -3, significand: Decimal(milliunits.magnitude))
    }
}
