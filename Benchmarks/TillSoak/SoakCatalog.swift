import TillBilling
import TillJSON

/// The products of the soak's shop: one of each type that the emulated store sells without further setup.
enum SoakCatalog {
    static let bundleID = "com.example.learn"

    struct Item: Sendable {
        let id: String
        let type: String
        let price: Int64
        let points: Int64
        var entitlement: String?
    }

    static let all = [
        Item(id: "\(bundleID).points60", type: "Consumable", price: 600, points: 60),
        Item(id: "\(bundleID).points300", type: "Consumable", price: 3_000, points: 300),
        Item(id: "\(bundleID).library", type: "Non-Consumable", price: 1_800, points: 0, entitlement: "library"),
        // Points come with every period, so a missing grant of a renewal is detected.
        Item(
            id: "\(bundleID).member.monthly", type: "Auto-Renewable Subscription", price: 1_800, points: 100,
            entitlement: "member"),
    ]

    /// The points of one transaction.
    static func points(_ product: String, quantity: Int64) -> Int64? {
        all.first { $0.id == product }.map { $0.points * quantity }
    }

    /// The server's catalogue file.
    static var catalog: JSONValue {
        let products = all.map { item -> JSONValue in
            var members: [String: JSONValue] = [
                "id": .string(item.id), "type": .string(item.type),
                "names": ["en": .string(item.id), "zh": .string(item.id)],
                "price": ["amount": .int(item.price), "currency": "CNY"],
            ]
            if item.points > 0 { members["points"] = ["points": .int(item.points)] }
            members["entitlement"] = item.entitlement.map { .string($0) }
            return .object(members)
        }
        return ["products": .array(products)]
    }
}
