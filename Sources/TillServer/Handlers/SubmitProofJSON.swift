import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// The JSON of `POST /v1/transactions`, the one route whose speed counts: the same members as the bodies' `Codable`
/// forms (a test holds them together), read and written by TillAppStore's JSON in a fifth of the time.
extension SubmitProofBody {
    /// - Throws: `Refused` with the member that doesn't fit.
    init(json body: [UInt8]) throws {
        guard let value = try? JSONValue(decoding: body) else { throw Refused(.malformedJSON) }
        guard value.object != nil else { throw Refused(.invalidField, "body: wrong type") }
        func text(_ name: String) throws -> String? {
            switch value[name] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            default: throw Refused(.invalidField, "\(name): wrong type")
            }
        }
        self.init(
            signedTransaction: try text("signedTransaction"), receipt: try text("receipt"),
            transactionId: try text("transactionId"), productId: try text("productId"),
            orderId: try text("orderId").map { text in
                guard let id = UniqueID(text) else { throw Refused(.invalidField, "orderId: not a UUID") }
                return id
            },
            userId: try text("userId"), deviceId: try text("deviceId"),
            idNonce: try text("idNonce").map { text in
                guard let nonce = OrderIDNonce(text) else {
                    throw Refused(.invalidField, "idNonce: not 32 hexadecimal digits")
                }
                return nonce
            },
            idUserId: try text("idUserId"))
    }
}

extension SubmitProofReply {
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "outcome": .string(outcome.rawValue), "transactionId": .string(transactionId), "finish": .bool(finish),
        ]
        if let orderId { members["orderId"] = .string(orderId.description) }
        if let userId { members["userId"] = .string(userId) }
        if let grant { members["grant"] = grant.json }
        if let sandbox { members["sandbox"] = .bool(sandbox) }
        if let reason { members["reason"] = .string(reason) }
        return .object(members)
    }
}

extension GrantReply {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "id": .string(id.description), "productId": .string(productId), "quantity": .int(Int64(quantity)),
            "postings": .array(
                postings.map { posting in
                    [
                        "account": .string(posting.account), "currency": .string(posting.currency),
                        "amount": .int(posting.amount),
                    ]
                }),
        ]
        if let entitlement { members["entitlement"] = .string(entitlement) }
        return .object(members)
    }
}
