import TillBilling

/// Every address of Till's API: patterns for the server, and complete paths for the client.
public enum Paths {
    public static let orders = "/v1/orders"
    public static let order = "/v1/orders/{id}"
    public static let cancelOrder = "/v1/orders/{id}/cancel"
    public static let failOrder = "/v1/orders/{id}/fail"
    public static let deferOrder = "/v1/orders/{id}/defer"
    public static let userOrders = "/v1/users/{userId}/orders"
    public static let transactions = "/v1/transactions"
    public static let appleNotifications = "/v1/notifications/apple"
    /// Apple's own name, for apps that are already shipped.
    public static let verifyReceipt = "/verifyReceipt"
    /// For shipped apps that send their receipts to an address of this form.
    public static let postPay = "/postPay/ios"
    /// For shipped apps that send nothing but their receipt.
    public static let appleReceipt = "/appleReceipt/ios"
    public static let wallet = "/v1/users/{userId}/wallet"
    public static let debits = "/v1/users/{userId}/wallet/debits"
    public static let bonuses = "/v1/users/{userId}/wallet/bonuses"
    public static let corrections = "/v1/users/{userId}/wallet/corrections"
    public static let lots = "/v1/users/{userId}/wallet/lots"
    public static let postings = "/v1/users/{userId}/wallet/postings"
    public static let consumptionConsent = "/v1/users/{userId}/consents/consumption"
    public static let accountTokens = "/v1/users/{userId}/account-tokens"
    public static let accountToken = "/v1/users/{userId}/account-tokens/{token}"
    public static let consumptionRequests = "/v1/consumption-requests"
    public static let restores = "/v1/restores"
    public static let guests = "/v1/users/{userId}/guests"
    public static let userTransfers = "/v1/users/{userId}/transfers"
    public static let transfers = "/v1/transfers"
    public static let transferReversal = "/v1/transfers/{id}/reversal"
    public static let claims = "/v1/users/{userId}/claims"
    public static let claimable = "/v1/users/{userId}/claimable"
    public static let quarantine = "/v1/quarantine"
    public static let quarantineClaims = "/v1/quarantine/{transactionId}/claims"
    public static let entitlements = "/v1/users/{userId}/entitlements"
    public static let entitlement = "/v1/users/{userId}/entitlements/{entitlement}"
    public static let subscriptions = "/v1/users/{userId}/subscriptions"
    public static let planPreview = "/v1/plans/preview"
    public static let promotionalOffers = "/v1/offers/promotional"
    public static let introductoryOffers = "/v1/offers/introductory"
    public static let financeReport = "/v1/finance/report"
    public static let fiscalCalendar = "/v1/finance/calendar"
    public static let priceTiers = "/v1/finance/tiers"
    public static let proceeds = "/v1/finance/proceeds"
    public static let appleReports = "/v1/finance/apple-reports"
    public static let reportComparison = "/v1/finance/comparison"
    public static let reconciliations = "/v1/reconciliations"
    public static let reconciliation = "/v1/reconciliations/{id}"
    public static let metrics = "/metrics"
    public static let events = "/v1/events"
    public static let webhooks = "/v1/webhooks"
    public static let webhookDeliveries = "/v1/webhooks/{id}/deliveries"
    public static let webhookDeliveryReplay = "/v1/webhooks/{id}/deliveries/{sequence}/replay"
    public static let webhookReplays = "/v1/webhooks/replays"
    public static let webhookTest = "/v1/webhooks/{id}/test"
    public static let webhookResumption = "/v1/webhooks/{id}/resumption"
    public static let customerExport = "/v1/users/{userId}/export"
    public static let imports = "/v1/imports"
    public static let importCheck = "/v1/imports/check"
    public static let importRows = "/v1/imports/{id}/rows"
    public static let importEnd = "/v1/imports/{id}/end"
    public static let importUndo = "/v1/imports/{id}/undo"
    public static let customerErasure = "/v1/users/{userId}/erasure"
    public static let products = "/v1/products"
    public static let health = "/healthz"
    public static let readiness = "/readyz"
    public static let openAPI = "/openapi.json"

    public static let dashboard = "/dashboard"
    public static let dashboardLive = "/dashboard/live"
    public static let dashboardOrder = "/dashboard/orders/{id}"
    public static let dashboardTransaction = "/dashboard/transactions/{sequence}"
    public static let dashboardQuarantine = "/dashboard/quarantine"
    public static let dashboardClaims = "/dashboard/quarantine/{sequence}/claims"
    public static let dashboardTransfers = "/dashboard/transfers"
    public static let dashboardTransfer = "/dashboard/transfers/{id}"
    public static let dashboardReversal = "/dashboard/transfers/{id}/reversal"
    public static let dashboardRefusals = "/dashboard/refusals"
    public static let dashboardCustomer = "/dashboard/customer"
    public static let dashboardCustomerExport = "/dashboard/customer/export"
    public static let dashboardCustomerErasure = "/dashboard/customer/erasure"
    public static let dashboardFinance = "/dashboard/finance"
    public static let dashboardAppleReports = "/dashboard/finance/apple-reports"
    public static let dashboardLogin = "/dashboard/login"
    public static let dashboardLogout = "/dashboard/logout"
    public static let dashboardStylesheet = "/dashboard/style.css"
    public static let dashboardScript = "/dashboard/live.js"

    public static func order(_ id: OrderID) -> String { "\(orders)/\(id)" }
    public static func cancel(_ id: OrderID) -> String { "\(orders)/\(id)/cancel" }
    public static func fail(_ id: OrderID) -> String { "\(orders)/\(id)/fail" }
    public static func `defer`(_ id: OrderID) -> String { "\(orders)/\(id)/defer" }
    public static func orders(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/orders" }
    public static func wallet(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/wallet" }
    public static func guests(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/guests" }
    public static func entitlements(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/entitlements" }
    public static func entitlement(_ name: String, of user: UserID) -> String {
        "\(entitlements(of: user))/\(escaped(name))"
    }
    public static func export(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/export" }
    public static func erasure(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/erasure" }
    public static func importRows(_ id: String) -> String { "\(imports)/\(escaped(id))/rows" }
    public static func importEnd(_ id: String) -> String { "\(imports)/\(escaped(id))/end" }
    public static func importUndo(_ id: String) -> String { "\(imports)/\(escaped(id))/undo" }
    public static func claims(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/claims" }
    public static func consumptionConsent(of user: UserID) -> String {
        "/v1/users/\(escaped(user.text))/consents/consumption"
    }
    public static func subscriptions(of user: UserID) -> String { "/v1/users/\(escaped(user.text))/subscriptions" }

    /// One path segment, percent-encoded (RFC 3986: all characters except unreserved ones).
    public static func escaped(_ text: String) -> String {
        let hex = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for unit in text.utf8 {
            switch unit {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.append(unit)
            default: out += [UInt8(ascii: "%"), hex[Int(unit >> 4)], hex[Int(unit & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
