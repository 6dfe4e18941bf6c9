import Foundation
import TillAPI
import TillBilling

@testable import TillClient

/// What the pretended server and store say about a user's entitlements.
extension PretendWorld {
    static func right(
        _ name: String, _ kind: Entitlement.Kind = .subscription, ends: Instant? = nil, renews: Bool? = nil,
        devices: [String]? = nil
    ) -> EntitlementsResponse.Right {
        EntitlementsResponse.Right(
            entitlement: name, productId: "points.60", kind: kind.rawValue, state: nil, why: "subscribed",
            sentence: nil,
            plan: nil, deviceId: nil, deviceIds: devices, since: Instant(seconds: 1_790_000_000), expiresAt: ends,
            willRenew: renews, transactionId: "1", originalTransactionId: nil)
    }

    /// From now on the server answers with these entitlements and points.
    func answer(_ user: String, _ rights: [EntitlementsResponse.Right], points: Int64 = 60) {
        state.withLock { state in
            state.pages["GET \(Paths.entitlements(of: UserID(user)))"] = Self.json(200, ["data": rights])
            state.pages["GET \(Paths.wallet(of: UserID(user)))"] = Self.json(200, ["balances": ["points": points]])
        }
    }

    /// The server's catalogue, in which `points.60` grants an entitlement.
    func sell(_ entitlement: String) {
        let text = """
            {"data":[{"id":"points.60","type":"Non-Consumable","names":{"en":"60","zh":"60"},"points":{},
            "entitlement":"\(entitlement)"}]}
            """
        state.withLock {
            $0.pages["GET \(Paths.products)"] = TransportResponse(
                status: 200, contentType: "application/json", body: Array(text.utf8))
        }
    }

    /// The number of requests with this method and path.
    func count(_ request: String) -> Int { state.now.requests.filter { $0 == request }.count }

    /// Time passes, in which the app is closed or shows nothing.
    func wait(seconds: Int64) { state.withLock { $0.now = $0.now.adding(seconds: seconds) } }
}
