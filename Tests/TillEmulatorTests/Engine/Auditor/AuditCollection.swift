import Foundation
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillAppStore
@testable import TillEmulator

/// Reads everything that the auditor checks from a store's endpoints.
struct AuditCollection {
    /// An endpoint did not answer as expected.
    struct Unanswered: Error, CustomStringConvertible {
        let description: String
    }

    typealias Ask = @Sendable (HTTPRequest) async -> HTTPResponse

    let ask: Ask
    let now: Instant

    /// A paged list without an end is an error too.
    private static let pageLimit = 100_000

    private func json(
        _ method: HTTPMethod, _ path: String, query: [(name: String, value: String)] = [], _ body: JSONValue? = nil,
        token: String? = nil, allowing other: Int? = nil
    ) async throws -> JSONValue? {
        var headers = HTTPHeaders()
        if let token { headers.add("Authorization", "Bearer \(token)") }
        let bytes = body.map { Array($0.encoded().utf8) } ?? []
        let response = await ask(HTTPRequest(method: method, path: path, query: query, headers: headers, body: bytes))
        if response.status == other { return nil }
        guard response.status == 200, let value = try? JSONValue(decoding: response.body) else {
            let text = String(decoding: response.body.prefix(300), as: UTF8.self)
            throw Unanswered(description: "\(method.rawValue) \(path) was answered with \(response.status): \(text)")
        }
        return value
    }

    private func list(_ value: JSONValue?, _ name: String) throws -> [JSONValue] {
        guard let list = value?[name]?.array else { throw Unanswered(description: "an answer without \(name)") }
        return list
    }

    /// A bearer token for an app, signed with the store's own key.
    private func token(_ bundleID: String) async throws -> String {
        let key = try await json(.get, "/emulator/api-key")
        let secret = try InAppPurchaseKey(
            issuerID: key?["issuerId"]?.string ?? "", keyID: key?["keyId"]?.string ?? "",
            privateKey: PrivateKey(pem: key?["privateKey"]?.string ?? ""))
        return try BearerTokens(key: secret, bundleID: bundleID).token(at: now)
    }

    /// All pages of a list of signed transactions.
    private func walk(_ path: String, token: String) async throws -> [JSONValue] {
        var all: [JSONValue] = []
        var revision: String?
        for _ in 0..<Self.pageLimit {
            let query = revision.map { [(name: "revision", value: $0)] } ?? []
            let page = try await json(.get, path, query: query, token: token)
            all += try list(page, "signedTransactions").map { try payload(of: $0.string) }
            revision = page?["revision"]?.string
            guard page?["hasMore"]?.bool == true else { return all }
        }
        throw Unanswered(description: "\(path) has no last page")
    }

    func customer(account: String, bundleID: String, anyTransactionID id: String) async throws -> AuditRecord.Customer {
        let token = try await token(bundleID)
        var customer = AuditRecord.Customer(account: account, bundleID: bundleID)
        customer.history = try await walk("/inApps/v2/history/\(id)", token: token)
        customer.refunds = try await walk("/inApps/v2/refund/lookup/\(id)", token: token)
        let statuses = try await json(.get, "/inApps/v1/subscriptions/\(id)", token: token)
        for group in try list(statuses, "data") {
            for item in try list(group, "lastTransactions") {
                customer.statuses.append(
                    AuditRecord.Status(
                        original: item.original, status: item["status"]?.int ?? 0,
                        transaction: try payload(of: item["signedTransactionInfo"]?.string),
                        renewal: try payload(of: item["signedRenewalInfo"]?.string)))
            }
        }
        for transaction in customer.history {
            let info = try await json(.get, "/inApps/v1/transactions/\(transaction.id)", token: token)
            customer.infos.append(try payload(of: info?["signedTransactionInfo"]?.string))
        }
        let app = try await json(.get, "/inApps/v1/transactions/appTransactions/\(id)", token: token)
        customer.appTransaction = try payload(of: app?["signedAppTransactionInfo"]?.string)
        let receipt = try await json(
            .get, "/emulator/receipt", query: [("account", account), ("bundleId", bundleID)])
        customer.receipt =
            try await json(.post, "/verifyReceipt", ["receipt-data": receipt?["receipt"] ?? .null]) ?? .null
        return customer
    }

    /// An app's notification history, as far back as Apple allows.
    func notificationHistory(bundleID: String, from start: Instant) async throws -> [AuditRecord.Notification] {
        let token = try await token(bundleID)
        let body: JSONValue = ["startDate": .int(start.milliseconds), "endDate": .int(now.milliseconds + 1)]
        var all: [AuditRecord.Notification] = []
        var next: String?
        for _ in 0..<Self.pageLimit {
            let query = next.map { [(name: "paginationToken", value: $0)] } ?? []
            let page = try await json(.post, "/inApps/v1/notifications/history", query: query, body, token: token)
            for item in try list(page, "notificationHistory") {
                all.append(try AuditRecord.Notification(signedPayload: item["signedPayload"]?.string ?? ""))
            }
            next = page?["paginationToken"]?.string
            guard page?["hasMore"]?.bool == true else { return all }
        }
        throw Unanswered(description: "the notification history has no last page")
    }
}

extension AuditRecord {
    /// - Parameters:
    ///   - notifications: signed payloads in the order in which the developer's server received them.
    ///   - read: decodes one.
    static func collect(
        from emulator: Emulator, notifications: [String],
        customers: [(account: String, bundleID: String, anyTransactionID: String)],
        reading read: (String) throws -> Notification = { try Notification(signedPayload: $0) }
    ) async throws -> AuditRecord {
        try await collect(
            AuditCollection(ask: { await emulator.respond(to: $0) }, now: emulator.store.now),
            notifications: notifications, customers: customers, reading: read)
    }

    static func collect(
        _ collection: AuditCollection, notifications: [String],
        customers: [(account: String, bundleID: String, anyTransactionID: String)],
        reading read: (String) throws -> Notification = { try Notification(signedPayload: $0) }
    ) async throws -> AuditRecord {
        // At most 180 days back (facts/server-api §4.3), with a margin.
        let begins = collection.now.adding(seconds: 60 - 180 * 86_400)
        var record = AuditRecord(now: collection.now.milliseconds, historyBegins: begins.milliseconds)
        record.notifications = try notifications.map(read)
        for customer in customers {
            record.customers.append(
                try await collection.customer(
                    account: customer.account, bundleID: customer.bundleID,
                    anyTransactionID: customer.anyTransactionID))
        }
        for bundleID in Set(customers.map(\.bundleID)).sorted() {
            record.notificationHistory += try await collection.notificationHistory(bundleID: bundleID, from: begins)
        }
        return record
    }
}
