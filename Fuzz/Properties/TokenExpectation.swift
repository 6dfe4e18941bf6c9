import TillBilling
import TillCrypto

@testable import TillAppStore
@testable import TillJSON

/// The kind as which a payload with a trusted signature must be accepted, computed independently of the verifier: from
/// the JSON tree, field by field (facts/jws §2, §4 to §7).
struct TokenExpectation: CustomStringConvertible {
    /// Nil: refused.
    let kind: String?
    /// The missing part, for people.
    let description: String

    private init(_ kind: String?, _ missing: String = "") {
        self.kind = kind
        description = kind ?? "nothing, for \(missing)"
    }

    /// - Parameter verifier: verifies the tokens inside a notification, which are tokens like any other.
    init(_ payload: [UInt8], _ verifier: SignedDataVerifier) {
        guard let json = try? JSONValue(decoding: payload), let keys = json.object?.keys,
            let object = try? JSONObject(payload)
        else {
            self.init(nil, "no JSON object")
            return
        }
        self =
            if keys.contains("notificationType") {
                Self.notification(json, object, verifier)
            } else if keys.contains("receiptType") {
                Self.appTransaction(json, object)
            } else if keys.contains("bundleId") {
                Self.transaction(json, object)
            } else {
                Self.renewal(json, object)
            }
    }

    private static func transaction(_ json: JSONValue, _ object: JSONObject) -> TokenExpectation {
        guard (try? TransactionPayload(object)) != nil else { return TokenExpectation(nil, "a member's type") }
        func isPlain(_ name: String, _ limit: Int) -> Bool {
            guard let text = json[name]?.string else { return false }
            return (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard isPlain("transactionId", 128), isPlain("productId", 255), isPlain("bundleId", 255),
            isMissing(json["originalTransactionId"]) || isPlain("originalTransactionId", 128)
        else { return TokenExpectation(nil, "an id") }
        guard let signedDate = json["signedDate"]?.number, json["purchaseDate"]?.number != nil else {
            return TokenExpectation(nil, "a date")
        }
        guard isMissing(json["quantity"]) || (1...0x7FFF_FFFF).contains(json["quantity"]?.int ?? 0) else {
            return TokenExpectation(nil, "the quantity")
        }
        return expected("transaction", at: signedDate, in: json["environment"])
    }

    private static func renewal(_ json: JSONValue, _ object: JSONObject) -> TokenExpectation {
        guard (try? RenewalInfoPayload(object)) != nil else { return TokenExpectation(nil, "a member's type") }
        return expected("renewal", at: json["signedDate"]?.number, in: json["environment"])
    }

    private static func appTransaction(_ json: JSONValue, _ object: JSONObject) -> TokenExpectation {
        guard (try? AppTransactionPayload(object)) != nil else { return TokenExpectation(nil, "a member's type") }
        let date = json["signedDate"]?.number ?? json["receiptCreationDate"]?.number
        return expected("apptransaction", at: date, in: json["receiptType"])
    }

    private static func notification(
        _ json: JSONValue, _ object: JSONObject, _ verifier: SignedDataVerifier
    ) -> TokenExpectation {
        guard (try? NotificationPayload(object)) != nil else { return TokenExpectation(nil, "a member's type") }
        guard let id = json["notificationUUID"]?.string, (1...128).contains(id.utf8.count) else {
            return TokenExpectation(nil, "the notification's id")
        }
        let names = ["data", "summary", "externalPurchaseToken", "appData"]
        guard let name = names.first(where: { !isMissing(json[$0]) }), let subject = json[name] else {
            return TokenExpectation(nil, "what it is about")
        }
        let isSandbox = subject["externalPurchaseId"]?.string?.utf8.starts(with: "SANDBOX".utf8) ?? false
        let environment =
            name == "externalPurchaseToken"
            ? JSONValue.string(isSandbox ? "Sandbox" : "Production") : subject["environment"]
        let app = subject["bundleId"]?.string
        func isGood(_ part: String, _ name: String, _ check: ([UInt8]) -> (app: String?, environment: String)?) -> Bool
        {
            guard let text = json[part]?[name], !text.isNull else { return true }
            guard let inner = text.string.flatMap({ check(Array($0.utf8)) }) else { return false }
            // A notification without an app is accepted by a verifier for any app; a server's own verifier refuses it.
            return (app == nil || inner.app == app) && inner.environment == environment?.string
        }
        let areNestedGood =
            isGood("data", "signedTransactionInfo") { token in
                (try? verifier.transaction(token)).map { ($0.bundleID, $0.environment.rawValue) }
            }
            && isGood("data", "signedRenewalInfo") { token in
                (try? verifier.renewalInfo(token)).map { (app, $0.environment.rawValue) }
            }
            && isGood("appData", "signedAppTransactionInfo") { token in
                (try? verifier.appTransaction(token)).map { ($0.payload.bundleID, $0.environment.rawValue) }
            }
        guard areNestedGood else { return TokenExpectation(nil, "a token inside") }
        return expected("notification", at: json["signedDate"]?.number, in: environment)
    }

    /// - Parameter milliseconds: nil for a proof without a date, which is verified at the current time.
    private static func expected(
        _ kind: String, at milliseconds: Double?, in environment: JSONValue?
    ) -> TokenExpectation {
        if let milliseconds {
            let validity = TestChain.validity
            guard Double(validity.lowerBound) * 1_000 <= milliseconds,
                milliseconds < Double(validity.upperBound) * 1_000
            else { return TokenExpectation(nil, "the certificates' time") }
        }
        guard let text = environment?.string, ["Production", "Sandbox"].contains(text) else {
            return TokenExpectation(nil, "the environment")
        }
        return TokenExpectation(kind)
    }

    private static func isMissing(_ value: JSONValue?) -> Bool { value?.isNull ?? true }
}
