import TillBilling
import TillJSON

/// The store's own record of one paid transaction, which everything else is compared with.
struct Sale: Sendable, Hashable {
    let id: String
    let account: String
    let product: String
    let quantity: Int64
    /// The account token that Apple signed.
    let token: OrderID?
    let isRenewal: Bool
    let isRevoked: Bool
    /// Whether it has left the queue of transactions that the app must handle.
    let isFinished: Bool
    let purchased: Instant

    init(
        id: String, account: String, product: String, quantity: Int64 = 1, token: OrderID?, isRenewal: Bool = false,
        isRevoked: Bool = false, isFinished: Bool = true, purchased: Instant
    ) {
        self.id = id
        self.account = account
        self.product = product
        self.quantity = quantity
        self.token = token
        self.isRenewal = isRenewal
        self.isRevoked = isRevoked
        self.isFinished = isFinished
        self.purchased = purchased
    }

    /// Parses an entry of `GET /emulator/transactions`. Nil for an unpaid transaction.
    init?(_ json: JSONValue) {
        guard json["state"] == "purchased", let id = json["transactionId"]?.string,
            let account = json["account"]?.string, let product = json["productId"]?.string,
            let quantity = json["quantity"]?.int,
            let purchased = json["purchaseDate"]?.string.flatMap({ Instant(rfc3339: $0) })
        else { return nil }
        self.init(
            id: id, account: account, product: product, quantity: quantity,
            token: json["appAccountToken"]?.string.flatMap { UniqueID($0) },
            isRenewal: json["reason"] == "RENEWAL", isRevoked: json["revocationDate"]?.string != nil,
            isFinished: json["finished"]?.bool ?? false, purchased: purchased)
    }
}
