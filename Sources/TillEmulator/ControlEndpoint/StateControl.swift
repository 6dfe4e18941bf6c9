import TillAppStore
import TillBilling
import TillHTTP

/// The whole store in a few numbers.
extension ControlEndpoint {
    func addState(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/state", Text(en: "The whole store in a few numbers.", zh: "商店概况。")
        ) { _ in try await state() }
    }

    private func state() async throws -> HTTPResponse {
        let summary = try await store.summary()
        return .json([
            "environment": .string(configuration.environment.rawValue),
            "now": .string(store.now.rfc3339),
            "products": .int(Int64(summary.products)),
            "transactions": [
                "total": .int(summary.transactions), "unfinished": .int(summary.unfinished),
                "refunded": .int(summary.refunded),
            ],
            "notifications": [
                "url": summary.notificationURL.map { .string($0) } ?? .null,
                "total": .int(summary.notifications), "pending": .int(summary.pendingNotifications),
                "nextAttemptAt": summary.nextDue.map { .string($0.rfc3339) } ?? .null,
            ],
        ])
    }
}
