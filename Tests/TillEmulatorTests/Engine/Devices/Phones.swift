import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

/// A device, with the requests of its StoreKit to the store.
struct Phone: Sendable {
    let id: String
    let world: EmulatedWorld

    /// The store's answer to this device, which must succeed.
    func ask(
        _ path: String, _ query: [(name: String, value: String)] = []
    ) async throws -> JSONValue {
        let answer = await world.ask(.get, "/emulator/devices/\(id)\(path)", query: query)
        try #require(answer.status == 200, "\(path): \(answer.json.encoded())")
        return answer.json
    }

    func post(_ path: String, _ body: JSONValue? = nil) async -> (status: Int, json: JSONValue) {
        let answer = await world.ask(.post, "/emulator/devices/\(id)\(path)", body)
        return (answer.status, answer.json)
    }

    func update(after position: Int64? = nil, app: String = EmulatedWorld.app) async throws -> Update {
        var query: [(name: String, value: String)] = [("bundleId", app)]
        if let position { query.append(("after", String(position))) }
        return Update(json: try await ask("/news", query))
    }

    /// The ids of one of StoreKit's sequences, read page by page.
    func set(
        _ set: String, product: String? = nil, consumables: Bool? = nil, pages size: Int = 100,
        app: String = EmulatedWorld.app
    ) async throws -> [String] {
        var ids: [String] = []
        var cursor: String?
        repeat {
            var query: [(name: String, value: String)] = [
                ("bundleId", app), ("set", set), ("limit", String(size)),
            ]
            if let product { query.append(("productId", product)) }
            if let consumables { query.append(("consumables", consumables ? "true" : "false")) }
            if let cursor { query.append(("cursor", cursor)) }
            let page = try await ask("/transactions", query)
            let data = try #require(page["data"]?.array)
            try #require(data.count <= size)
            ids += data.compactMap { $0["transactionId"]?.string }
            cursor = page["nextCursor"]?.string
            #expect(page["hasMore"]?.bool == (cursor != nil))
        } while cursor != nil
        return ids
    }
}

/// One answer of `GET …/update`.
struct Update: Sendable {
    let json: JSONValue

    var position: Int64 { json["position"]?.int ?? -1 }
    var changed: [JSONValue] { json["changed"]?.array ?? [] }
    var ids: [String] { changed.compactMap { $0["transactionId"]?.string } }
    /// `product state` with further details, in the order of change.
    var lines: [String] {
        changed.map { item in
            let name = item["productId"]?.string?.split(separator: ".").last.map(String.init) ?? "?"
            var line = "\(name) \(item["state"]?.string ?? "?")"
            if item["reason"] == "RENEWAL" { line += " renewal" }
            if item["revocationDate"]?.string != nil { line += " revoked" }
            if item["sharedFrom"]?.string != nil { line += " shared" }
            if let token = item["signedTransaction"]?.string, let signed = try? payload(of: token),
                signed["isUpgraded"]?.bool == true
            {
                line += " upgraded"
            }
            return line
        }
    }
    var version: String { json["subscriptionVersion"]?.string ?? "" }
    var intents: [JSONValue] { json["intents"]?.array ?? [] }
    var messages: [JSONValue] { json["messages"]?.array ?? [] }
    var reasons: [String] { messages.compactMap { $0["reason"]?.string } }
}

extension EmulatedWorld {
    /// Opens the account if it is new, and signs it in on a device.
    @discardableResult
    func phone(_ number: Int, of account: String) async throws -> Phone {
        await put(account: account, [:])
        let id = "3f2c1a00-1111-4222-8333-\(String(444_455_550_000 + number))"
        let answer = await ask(.put, "/emulator/accounts/\(account)/devices", ["id": .string(id)])
        try #require(answer.status == 200, "\(answer.json.encoded())")
        #expect(answer.json["account"] == .string(account))
        return Phone(id: id, world: self)
    }

    func subscription(_ id: String, _ act: String, _ body: JSONValue? = nil) async throws {
        let answer = await ask(.post, "/emulator/subscriptions/\(id)/\(act)", body)
        try #require(answer.status == 200, "\(act): \(answer.json.encoded())")
    }
}
