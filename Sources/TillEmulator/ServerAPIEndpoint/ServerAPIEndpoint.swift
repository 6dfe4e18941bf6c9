import TillAppStore
import TillBilling
import TillHTTP

/// The App Store Server API, as far as it stands: Get Transaction Info, Finish Transaction, and the two of test
/// notifications (facts/server-api §3, numbers 1, 10, 11 and 15).
struct ServerAPIEndpoint: Sendable {
    let store: Store
    let issuer: Issuer
    let apiKey: APIKey

    func add(to router: inout Router) {
        on(&router, .get, "/inApps/v1/transactions/{id}") { bundleID, id in
            let transaction = try await paid(id, of: bundleID)
            let signed = try issuer.signedTransaction(transaction, at: store.now)
            return .json(["signedTransactionInfo": .string(signed)])
        }
        on(&router, .post, "/inApps/v1/transactions/{id}/finish") { bundleID, id in
            _ = try await store.finish(try await paid(id, of: bundleID).number)
            return HTTPResponse(status: 200)
        }
        on(&router, .post, "/inApps/v1/notifications/test") { bundleID, _ in
            guard let id = try await store.sendTestNotification(bundleID: bundleID) else {
                throw Refusal(404, 4_040_007, "No App Store Server Notification URL found for provided app.")
            }
            return .json(["testNotificationToken": .string(id.description)])
        }
        on(&router, .get, "/inApps/v1/notifications/test/{id}") { _, token in
            try await testNotification(token)
        }
    }

    /// An error of Apple's: HTTP status, `errorCode` and `errorMessage` (facts/server-api §3).
    private struct Refusal: Error {
        let status: Int
        let code: Int64
        let message: String

        init(_ status: Int, _ code: Int64, _ message: String) {
            self.status = status
            self.code = code
            self.message = message
        }

        var response: HTTPResponse {
            .json(["errorCode": .int(code), "errorMessage": .string(message)], status: status)
        }
    }

    private typealias Action = @Sendable (_ bundleID: String, _ id: String) async throws -> HTTPResponse

    private func on(_ router: inout Router, _ method: HTTPMethod, _ pattern: String, _ action: @escaping Action) {
        let hasID = pattern.contains("{id}")
        router.on(method, pattern) { request, parameters in
            guard let bundleID = apiKey.bundleID(authorizedBy: request.headers["Authorization"], at: store.now) else {
                // No JSON body is documented for it (facts/server-api §2).
                return HTTPResponse(status: 401)
            }
            do {
                return try await action(bundleID, hasID ? parameters["id"] : "")
            } catch let refusal as Refusal {
                return refusal.response
            } catch {
                return Refusal(500, 5_000_001, "An unknown error occurred. Please try again.").response
            }
        }
    }

    private func paid(_ id: String, of bundleID: String) async throws -> StoreTransaction {
        guard let number = Int64(id), number >= 0 else { throw Refusal(400, 4_000_006, "Invalid transaction id.") }
        guard let transaction = try await store.transaction(number), transaction.state == .purchased,
            transaction.bundleID == bundleID
        else { throw Refusal(404, 4_040_010, "Transaction id not found.") }
        return transaction
    }

    private func testNotification(_ token: String) async throws -> HTTPResponse {
        guard let uuid = UniqueID(token) else { throw Refusal(400, 4_000_020, "Invalid test notification token.") }
        guard let (notification, attempts) = try await store.testNotification(uuid) else {
            throw Refusal(
                404, 4_040_008,
                "Either the test notification token is expired or the notification "
                    + "and status are not yet available.")
        }
        let payload = try notification.signedPayload ?? store.notifications.signedPayload(notification)
        return .json([
            "signedPayload": .string(payload),
            "sendAttempts": .array(
                attempts.map {
                    ["attemptDate": .int($0.at.milliseconds), "sendAttemptResult": .string($0.result)]
                }),
        ])
    }
}
