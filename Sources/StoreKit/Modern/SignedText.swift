import Foundation
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
    static var token: SignedToken { get }
    /// Lenient: what is missing has a neutral value, because Apple hands out what fails its checks too. Nil only for a
    /// payload that is no JSON object at all.
    init?(_ text: SignedText)
    var signedText: SignedText { get }
    /// What proves that the token was signed for this device; empty where there is none.
    var deviceVerification: Data { get }
    var deviceVerificationNonce: UUID { get }
}

/// The tokens of facts/jws that a device reads.
enum SignedToken: Sendable {
    /// §4.
    case transaction
    /// §5.
    case renewal
    /// §6.
    case download
}

/// The members of a payload, read leniently.
struct SignedMembers: Sendable, Equatable {
    private var members: [String: JSONValue]

    /// Nil for what is no JSON object.
    init?(_ text: SignedText) {
        guard let members = (try? JSONValue(decoding: text.payload))?.object else { return nil }
        self.members = members
    }

    /// What is said, without what every signing makes anew.
    var withoutSigning: SignedMembers {
        var said = self
        for name in ["signedDate", "deviceVerification", "deviceVerificationNonce"] { said.members[name] = nil }
        return said
    }

    func text(_ name: String) -> String? { members[name]?.string }
    func integer(_ name: String) -> Int? { members[name]?.int.map { Int($0) } }
    func flag(_ name: String) -> Bool? { members[name]?.bool }
    func texts(_ name: String) -> [String]? { members[name]?.array?.compactMap(\.string) }
    func uuid(_ name: String) -> UUID? { text(name).flatMap { UUID(uuidString: $0) } }
    func base64(_ name: String) -> Data? { text(name).flatMap { Data(base64Encoded: $0) } }

    /// Apple writes ids as texts of digits, some as numbers.
    func id(_ name: String) -> UInt64? {
        text(name).flatMap { UInt64($0) } ?? members[name]?.int.flatMap { UInt64(exactly: $0) }
    }

    /// Apple's milliseconds; Xcode writes fractions of them.
    func date(_ name: String) -> Date? {
        members[name]?.number.map { Date(timeIntervalSince1970: $0.rounded(.down) / 1_000) }
    }

    /// Thousandths of a currency's unit.
    func money(_ name: String) -> Decimal? {
        members[name]?.int.map {
            Decimal(sign: $0 < 0 ? .minus : .plus, exponent: -3, significand: Decimal($0.magnitude))
        }
    }
}
