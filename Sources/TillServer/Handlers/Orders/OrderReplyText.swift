import TillAPI
import TillBilling
import TillJSON

// Orders as JSON, member by member: a device reads all of its customer's orders at each launch, and an encoder takes
// most of the time of that answer.

extension OrderReply {
    /// The same text as `JSONText.encode` makes.
    var encoded: [UInt8] { JSONWriter(write).bytes }

    fileprivate func write(_ json: inout JSONWriter) {
        json.text("createdAt", createdAt.rfc3339)
        json.optional("deviceId", deviceId)
        json.optional("environment", environment)
        json.objects("history", history) { move, json in
            json.text("at", move.at.rfc3339)
            json.text("reason", move.reason)
            json.text("status", move.status)
        }
        json.text("id", id.description)
        if let metadata { json.json("metadata", JSONText.encode(metadata)) } else { json.null("metadata") }
        if let paid { json.money("paid", paid) }
        if let preview {
            json.object("preview") { json in
                json.text("at", preview.at.rfc3339)
                json.text("expiresAt", preview.expiresAt.rfc3339)
            }
        } else {
            json.null("preview")
        }
        json.money("price", price)
        json.text("productId", productId)
        if let productNames { json.texts("productNames", productNames.written) }
        if let purchaseKind { json.text("purchaseKind", purchaseKind.rawValue) }
        json.integer("quantity", Int64(quantity))
        if let sandbox { json.bool("sandbox", sandbox) }
        json.text("status", status)
        json.integer("statusCode", Int64(statusCode))
        json.optional("transactionId", transactionId)
        json.text("updatedAt", updatedAt.rfc3339)
        json.text("userId", userId)
    }
}

extension OrderPage {
    /// The same text as `JSONText.encode` makes.
    var encoded: [UInt8] {
        JSONWriter { json in
            json.objects("data", data) { order, json in order.write(&json) }
            json.bool("hasMore", hasMore)
            json.optional("nextCursor", nextCursor)
            if let restored {
                json.object("restored") { json in
                    json.text("backupAt", restored.backupAt.rfc3339)
                    json.text("restoredAt", restored.restoredAt.rfc3339)
                }
            }
        }.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func optional(_ key: StaticString, _ value: String?) {
        if let value { text(key, value) } else { null(key) }
    }

    fileprivate mutating func money(_ key: StaticString, _ money: Money) {
        object(key) { json in
            json.integer("amount", money.amount)
            json.text("currency", money.currency.text)
        }
    }
}
