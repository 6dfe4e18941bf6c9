import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

/// One call for each of the device routes.
enum DeviceExamples {
    private static let phone = ["id": "3f2c91ab-0000-4000-8000-000000000008"]
    private static let point: JSONValue = "com.example.learnpoints.points60"

    static let all = [
        ControlExample(.get, "/emulator/devices/{id}", path: phone),
        ControlExample(.get, "/emulator/devices/{id}/news", path: phone, query: [("after", "0")]),
        ControlExample(
            .get, "/emulator/devices/{id}/products", path: phone,
            query: [("ids", "com.example.learnpoints.member.yearly,unknown")]),
        ControlExample(.post, "/emulator/devices/{id}/products", path: phone, ["ids": [point]]),
        ControlExample(.get, "/emulator/devices/{id}/transactions", path: phone, query: [("set", "all")]),
        ControlExample(.get, "/emulator/devices/{id}/subscription-statuses", path: phone),
        ControlExample(.post, "/emulator/purchase-intents", ["productId": point, "account": "dad"]),
        ControlExample(
            .post, "/emulator/devices/{id}/intents/{intentId}/take",
            path: phone.merging(["intentId": "intent"]) { $1 }),
        ControlExample(.post, "/emulator/messages", ["reason": "generic", "account": "dad"]),
        ControlExample(
            .post, "/emulator/devices/{id}/messages/{messageId}/shown",
            path: phone.merging(["messageId": "message"]) { $1 }),
    ]

    /// An account with a device, with an item of each kind and with waiting changes.
    static func subjects(_ world: EmulatedWorld) async throws -> [String: String] {
        await world.put(account: "dad", [:])
        _ = await world.ask(.put, "/emulator/accounts/dad/devices", ["id": .string(phone["id"] ?? "")])
        for product in ["points60", "member.monthly"] { _ = try await world.buy(product, ["account": "dad"]) }
        let intent = await world.ask(
            .post, "/emulator/purchase-intents", ["productId": point, "account": "dad"])
        let message = await world.ask(.post, "/emulator/messages", ["account": "dad"])
        return [
            "intent": try #require(intent.json["id"]?.string), "message": try #require(message.json["id"]?.string),
        ]
    }
}
