import Foundation
import TillAPI
import TillBilling
import TillLedger

@testable import TillJSON
@testable import TillServer

/// The properties of every request body of Till's own API: it decodes to a value or a refusal, and the hand-written
/// reader agrees with the `Codable` form of the body.
enum BodyProperties {
    static func check(_ input: [UInt8]) throws(PropertyError) {
        let body = try read("the proof") { try SubmitProofBody(json: input) }
        let codable = try read("the proof's Codable form") {
            try TillServer.JSONText.decode(SubmitProofBody.self, from: input)
        }
        _ = try read("an order") { try TillServer.JSONText.decode(OpenOrderBody.self, from: input) }
        _ = try read("a debit") { try TillServer.JSONText.decode(DebitBody.self, from: input) }
        _ = try read("a notification") { try TillServer.JSONText.decode(AppleNotificationBody.self, from: input) }
        guard let body else { return }
        let json = try held(try? JSONValue(decoding: input), "a body is JSON")
        for (name, text) in members(of: body) {
            let stated =
                name == "orderId" ? json[name]?.string.flatMap { UniqueID($0) }?.description : json[name]?.string
            try hold(same(stated, text), "\(name) is what was written")
        }
        // Foundation reads two kinds of texts differently: repeated keys, and half a surrogate pair.
        if let codable, !hasRepeatedKey(input, json) {
            for (own, other) in zip(members(of: body), members(of: codable)) {
                try hold(same(own.text, other.text), "\(own.name) is read as its Codable form would be")
            }
        }
        let written = try held(try? JSONEncoder().encode(body), "a body can be written")
        let again = try held(try? SubmitProofBody(json: [UInt8](written)), "a written body can be read")
        for (own, other) in zip(members(of: body), members(of: again)) {
            try hold(same(own.text, other.text), "\(own.name) reads back")
        }
    }

    /// Only a refusal may be thrown.
    private static func read<Body>(_ name: String, _ decode: () throws -> Body) throws(PropertyError) -> Body? {
        do {
            return try decode()
        } catch let refused as RefusalError {
            try hold(!refused.refusal.rawValue.isEmpty, "the refusal of \(name) has a code")
            return nil
        } catch {
            throw PropertyError(claim: "\(name) is refused by a refusal, not by \(error)")
        }
    }

    private static func members(of body: SubmitProofBody) -> [(name: String, text: String?)] {
        [
            ("signedTransaction", body.signedTransaction), ("receipt", body.receipt),
            ("transactionId", body.transactionId), ("productId", body.productId), ("userId", body.userId),
            ("orderId", body.orderId?.description),
        ]
    }

    private static func same(_ left: String?, _ right: String?) -> Bool {
        left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    }

    /// Re-encoding a text without repeated keys preserves the number of colons; a repeated key reduces it.
    private static func hasRepeatedKey(_ input: [UInt8], _ json: JSONValue) -> Bool {
        let colon = UInt8(ascii: ":")
        return input.count { $0 == colon } != json.encoded().utf8.count { $0 == colon }
            || input.contains(UInt8(ascii: "\\"))
    }
}
