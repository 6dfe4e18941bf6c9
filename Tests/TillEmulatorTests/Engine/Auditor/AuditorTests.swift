import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The auditor, which finds contradictions in a store's answers")
struct AuditorTests {
    @Test("A consistent record has no violation, and is not empty")
    func good() {
        let record = AuditSample.record
        #expect(Auditor(record: record).violations() == [])
        #expect(record.customers.count == 4 && record.notifications.count > 25)
        #expect(Set(record.customers.flatMap(\.statuses).map(\.status)) == [1, 3, 4, 5])
    }

    @Test("Every planted contradiction is found by its invariant", arguments: AuditCorruptions.all.indices)
    func lies(_ index: Int) {
        let lie = AuditCorruptions.all[index]
        var record = AuditSample.record
        lie.plant(&record)
        let found = Auditor(record: record).violations()
        #expect(found.contains { $0.hasPrefix(lie.finds + ":") }, "\(lie.finds), \(lie.name): \(found)")
    }

    @Test("Every invariant has a planted contradiction of its own")
    func coverage() {
        #expect(Set(AuditCorruptions.all.map(\.finds)) == Set(Auditor.checks.map(\.name)))
    }

    @Test("Notifications in another order of arrival, some of them repeated, change nothing")
    func order() {
        var record = AuditSample.record
        record.notifications = record.notifications.reversed() + record.notifications.prefix(5)
        #expect(Auditor(record: record).violations() == [])
    }

    @Test("A record collected from the endpoints, page by page, equals the one they serve")
    func collected() async throws {
        let sample = AuditSample.record
        let service = AuditedService(record: sample)
        let key = try PrivateKey.generate(.p256).pem()
        let collection = AuditCollection(
            ask: { service.respond(to: $0, key: key) }, now: Instant(milliseconds: sample.now))
        var record = try await AuditRecord.collect(
            collection, notifications: sample.notifications.map(AuditedService.token(of:)),
            customers: sample.customers.map { ($0.account, $0.bundleID, $0.history[0].id) })
        #expect(Auditor(record: record).violations() == [])
        #expect(record.notifications == sample.notifications)
        #expect(record.customers.map(\.history) == sample.customers.map(\.history))
        #expect(record.customers.map(\.statuses) == sample.customers.map(\.statuses))
        #expect(record.customers.map(\.receipt) == sample.customers.map(\.receipt))
        record.customers[0].infos.removeLast()
        #expect(!Auditor(record: record).violations().isEmpty)
    }

    @Test("An endpoint that fails is an error, not an empty answer")
    func unanswered() async throws {
        let collection = AuditCollection(
            ask: { _ in HTTPResponse(status: 500) }, now: Instant(milliseconds: AuditScript.start))
        await #expect(throws: AuditCollection.Unanswered.self) {
            try await AuditRecord.collect(
                collection, notifications: [], customers: [("a", AuditScript.bundleID, "1")])
        }
    }
}

/// Apple's endpoints over a record, two items per page. The payloads have no signature, which the auditor does not
/// check.
struct AuditedService: Sendable {
    let record: AuditRecord

    static func token(_ payload: JSONValue) -> String {
        "e30." + Base64.encode(Array(payload.encoded().utf8), .url) + ".AAAA"
    }

    static func token(of notification: AuditRecord.Notification) -> String {
        var data = notification.payload["data"] ?? .null
        data = data.setting("signedTransactionInfo", notification.transaction.map { .string(token($0)) })
        data = data.setting("signedRenewalInfo", notification.renewal.map { .string(token($0)) })
        return token(notification.payload.setting("data", data))
    }

    func respond(to request: HTTPRequest, key: String) -> HTTPResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        let id = parts.last ?? ""
        let customer = record.customers.first { customer in
            customer.history.contains { $0.id == id } || customer.account == request.queryValue("account")
        }
        switch parts.dropLast().joined(separator: "/") {
        case "emulator" where id == "api-key":
            return .json([
                "issuerId": "69a6de70-03db-47e3-e053-5b8c7c11a4d1", "keyId": "ABCDEFGHIJ", "privateKey": .string(key),
            ])
        case "emulator": return .json(["receipt": .string(customer?.account ?? "")])
        case "":
            let account = (try? JSONValue(decoding: request.body))?["receipt-data"]?.string
            return .json(record.customers.first { $0.account == account }?.receipt ?? .null)
        case "inApps/v2/history": return page(customer?.history ?? [], request)
        case "inApps/v2/refund/lookup": return page(customer?.refunds ?? [], request)
        case "inApps/v1/subscriptions":
            return .json(["data": .array([["lastTransactions": .array(statuses(customer))]])])
        case "inApps/v1/transactions":
            let transaction = customer?.infos.first { $0.id == id } ?? .null
            return .json(["signedTransactionInfo": .string(Self.token(transaction))])
        case "inApps/v1/transactions/appTransactions":
            return .json(["signedAppTransactionInfo": .string(Self.token(customer?.appTransaction ?? .null))])
        case "inApps/v1/notifications": return notifications(request)
        default: return HTTPResponse(status: 404)
        }
    }

    private func statuses(_ customer: AuditRecord.Customer?) -> [JSONValue] {
        (customer?.statuses ?? []).map { status in
            [
                "originalTransactionId": .string(status.original), "status": .int(status.status),
                "signedTransactionInfo": .string(Self.token(status.transaction)),
                "signedRenewalInfo": .string(Self.token(status.renewal)),
            ]
        }
    }

    private func page(_ all: [JSONValue], _ request: HTTPRequest) -> HTTPResponse {
        let start = request.queryValue("revision").flatMap { Int($0) } ?? 0
        let shown = all.dropFirst(start).prefix(2)
        return .json([
            "signedTransactions": .array(shown.map { .string(Self.token($0)) }), "revision": .string(String(start + 2)),
            "hasMore": .bool(start + 2 < all.count),
        ])
    }

    private func notifications(_ request: HTTPRequest) -> HTTPResponse {
        let start = request.queryValue("paginationToken").flatMap { Int($0) } ?? 0
        let shown = record.notificationHistory.dropFirst(start).prefix(2)
        let items = shown.map { JSONValue.object(["signedPayload": .string(Self.token(of: $0))]) }
        let hasMore = start + 2 < record.notificationHistory.count
        return .json([
            "notificationHistory": .array(items), "hasMore": .bool(hasMore),
            "paginationToken": hasMore ? .string(String(start + 2)) : .null,
        ])
    }
}
