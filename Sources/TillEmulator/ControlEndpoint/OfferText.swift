import TillBilling
import TillJSON

/// The offer a customer buys with, as `POST /emulator/purchases` takes it: `{"type": "promotional", "identifier",
/// "signature": {"keyIdentifier", "nonce", "timestamp", "signature"}}`, or `"jws"` in place of the signature;
/// `{"type": "code", "code"}`; `{"type": "winBack", "identifier"}`.
enum OfferText {
    static let members: [ControlMember] = [
        ControlMember(
            "type", .choice(["promotional", "code", "winBack"]), required: true, Text(en: "its kind", zh: "优惠种类")),
        ControlMember(
            "identifier", .text(limit: 200),
            Text(en: "of a promotional or win-back offer", zh: "促销优惠或赢回优惠的标识")),
        ControlMember(
            "signature",
            .object([
                ControlMember(
                    "keyIdentifier", .text(limit: 64), required: true,
                    Text(en: "keyId of GET /emulator/api-key", zh: "GET /emulator/api-key 的 keyId")),
                ControlMember("nonce", .uuid, required: true, Text(en: "a new one each time", zh: "每次不同")),
                ControlMember(
                    "timestamp", .integer(0...Int64.max), required: true,
                    Text(en: "milliseconds, when it was signed", zh: "签名时间，毫秒")),
                ControlMember(
                    "signature", .text(limit: 1_000), required: true, Text(en: "base64 of DER", zh: "DER 的 base64")),
            ]), Text(en: "the developer's, in the classic form", zh: "开发者的经典形式签名")),
        ControlMember(
            "jws", .text(limit: 16_384), Text(en: "the developer's, as a token", zh: "开发者的令牌形式签名")),
        ControlMember("code", .text(limit: 64), Text(en: "an offer code", zh: "优惠代码")),
    ]

    /// What is missing is for the store to refuse, as StoreKit does; what has another form than it must have is no
    /// request.
    static func offer(_ value: JSONValue?) throws(Problem) -> Result<PurchaseRequest.Offer, StoreRefusal>? {
        guard let value else { return .none }
        let body = try RequestBody(value, knowing: members.map(\.name))
        let identifier = try body.text("identifier")
        switch try body.requiredText("type") {
        case "code":
            guard let code = try body.text("code", upTo: 64) else { return .failure(.missingOfferParameters("code")) }
            return .success(.code(code))
        case "winBack":
            guard let identifier else { return .failure(.missingOfferParameters("identifier")) }
            return .success(.winBack(identifier: identifier))
        case "promotional":
            guard let identifier else { return .failure(.missingOfferParameters("identifier")) }
            if let token = try body.text("jws", upTo: 16_384) {
                return .success(.promotional(identifier: identifier, signature: .jws(token)))
            }
            guard let signature = body.value("signature") else { return .failure(.missingOfferParameters("signature")) }
            switch try classic(signature) {
            case .success(let signature):
                return .success(.promotional(identifier: identifier, signature: signature))
            case .failure(let refusal): return .failure(refusal)
            }
        default:
            throw RequestBody.wrong("type", "promotional, code or winBack", "promotional、code 或 winBack")
        }
    }

    private static func classic(_ value: JSONValue) throws(Problem) -> Result<OfferSignature, StoreRefusal> {
        let body = try RequestBody(value, knowing: ["keyIdentifier", "nonce", "timestamp", "signature"])
        guard let key = try body.text("keyIdentifier", upTo: 64) else {
            return .failure(.missingOfferParameters("keyIdentifier"))
        }
        guard let nonce = try body.uniqueID("nonce") else { return .failure(.missingOfferParameters("nonce")) }
        guard let timestamp = try body.integer("timestamp", in: 0...Int64.max) else {
            return .failure(.missingOfferParameters("timestamp"))
        }
        guard let signature = try body.text("signature", upTo: 1_000) else {
            return .failure(.missingOfferParameters("signature"))
        }
        return .success(.classic(keyIdentifier: key, nonce: nonce, timestamp: timestamp, signature: signature))
    }
}
