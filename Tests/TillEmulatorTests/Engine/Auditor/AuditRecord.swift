import TillJSON

/// Everything that a store has sent outside: notifications in the order of arrival, and the answers of its endpoints
/// for some customers. Payloads are decoded and not verified, because other tests verify them.
struct AuditRecord {
    /// The time of the answers, in milliseconds.
    var now: Int64
    var notifications: [Notification] = []
    var customers: [Customer] = []
    /// Customers with deleted accounts, as recorded before the deletion: their histories are no longer available
    /// (facts/server-api §6, 4040001).
    var closed: [Customer] = []
    /// Get Notification History, all pages of all apps.
    var notificationHistory: [Notification] = []
    /// The start of Get Notification History, in milliseconds.
    var historyBegins: Int64

    struct Notification: Equatable {
        var payload: JSONValue
        var transaction: JSONValue?
        var renewal: JSONValue?

        var uuid: String { payload["notificationUUID"]?.string ?? "?" }
        var type: String { payload["notificationType"]?.string ?? "?" }
        var subtype: String? { payload["subtype"]?.string }
        var signed: Int64 { payload["signedDate"]?.int ?? 0 }
        var status: Int64? { payload["data"]?["status"]?.int }
        var original: String? { transaction?.original }
        var id: String? { transaction?.id }
        /// `DID_RENEW/BILLING_RECOVERY`
        var word: String { subtype.map { "\(type)/\($0)" } ?? type }

        /// - Parameter signedPayload: as the developer's server received it.
        init(signedPayload: String) throws {
            let decoded = try TillEmulatorTests.payload(of: signedPayload)
            // Nested parts are compared by content, because signatures of the same text differ.
            let data = decoded["data"]?.setting("signedTransactionInfo", nil).setting("signedRenewalInfo", nil)
            let download = try decoded["appData"].map { app in
                app.setting(
                    "signedAppTransactionInfo",
                    try TillEmulatorTests.payload(of: app["signedAppTransactionInfo"]?.string))
            }
            self.init(
                decoded.setting("data", data).setting("appData", download),
                transaction: try decoded["data"]?["signedTransactionInfo"].map {
                    try TillEmulatorTests.payload(of: $0.string)
                },
                renewal: try decoded["data"]?["signedRenewalInfo"].map { try TillEmulatorTests.payload(of: $0.string) })
        }

        init(_ payload: JSONValue, transaction: JSONValue?, renewal: JSONValue?) {
            self.payload = payload
            self.transaction = transaction
            self.renewal = renewal
        }
    }

    /// One of `lastTransactions` in the statuses.
    struct Status: Equatable {
        var original: String
        var status: Int64
        var transaction: JSONValue
        var renewal: JSONValue
    }

    /// One Apple Account in one app.
    struct Customer {
        var account: String
        var bundleID: String
        /// Get Transaction History, all pages.
        var history: [JSONValue] = []
        /// Get Refund History, all pages.
        var refunds: [JSONValue] = []
        var statuses: [Status] = []
        /// Get Transaction Info for each transaction of the history.
        var infos: [JSONValue] = []
        var appTransaction: JSONValue?
        /// The answer of `/verifyReceipt` for the customer's receipt.
        var receipt: JSONValue = .null
    }

    /// Each notification once, by its date; repeated ones must be equal.
    var notified: [Notification] {
        var seen: Set<String> = []
        let unique = notifications.filter { seen.insert($0.uuid).inserted }
        return unique.enumerated().sorted { ($0.element.signed, $0.offset) < ($1.element.signed, $1.offset) }
            .map(\.element)
    }

    /// The notifications of each subscription in order, by original transaction.
    var subscriptionLives: [(original: String, notifications: [Notification])] {
        let about = notified.filter { $0.renewal != nil }
        return Dictionary(grouping: about) { $0.original ?? "?" }.sorted { $0.key < $1.key }
            .map { (original: $0.key, notifications: $0.value) }
    }
}

/// Members of decoded transactions and renewal infos.
extension JSONValue {
    var id: String { self["transactionId"]?.string ?? "?" }
    var original: String { self["originalTransactionId"]?.string ?? "?" }
    var product: String { self["productId"]?.string ?? "?" }
    var purchased: Int64 { self["purchaseDate"]?.int ?? 0 }
    var expires: Int64? { self["expiresDate"]?.int }
    var revoked: Int64? { self["revocationDate"]?.int }
    var signed: Int64 { self["signedDate"]?.int ?? 0 }
    var isUpgraded: Bool { self["isUpgraded"]?.bool ?? false }
    var isShared: Bool { self["inAppOwnershipType"] == "FAMILY_SHARED" }
    var isRenewal: Bool { self["transactionReason"] == "RENEWAL" }
    var isConsumable: Bool { self["type"] == "Consumable" }
    var price: Int64 { self["price"]?.int ?? 0 }
    var quantity: Int64 { self["quantity"]?.int ?? 1 }
    var group: String { self["subscriptionGroupIdentifier"]?.string ?? "?" }
}
