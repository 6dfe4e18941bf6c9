import Foundation
import TillBilling

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
        guard parts.count == 3, let header = Self.decode(parts[0]), let payload = Self.decode(parts[1]),
            let signature = Self.decode(parts[2])
        else { return nil }
        self.jws = jws
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// The bytes that the signature covers.
    var signed: Data { Data(jws.utf8.prefix(jws.utf8.count - jws.reversed().prefix { $0 != "." }.count - 1)) }

    private static func decode(_ text: Substring) -> Data? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }
}

/// What the store signs and StoreKit hands out: a transaction, a renewal, a download.
protocol SignedValue: Sendable {
    /// Nil if something is missing that every such token has.
    init?(_ text: SignedText)
    var signedText: SignedText { get }
}
