import TillBilling
import TillJSON

/// An order id as a user's app makes it, with its proof; the same for the same number.
struct ProvenOrder: Sendable {
    let id: OrderID
    let nonce: OrderIDNonce

    init(of user: String, _ number: Int = 1) {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        nonce = OrderIDNonce(bytes: Array(repeating: 7, count: 8) + bytes)!
        id = OrderIDCommitment(user: UserID(user), nonce: nonce).id
    }

    /// Members of a request that opens it.
    func opening(_ members: [String: JSONValue]) -> JSONValue {
        .object(members.merging(["id": .string(id.description), "idNonce": .string(nonce.text)]) { _, own in own })
    }
}
