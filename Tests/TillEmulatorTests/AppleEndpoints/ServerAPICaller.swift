import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

/// A developer's server that calls the App Store Server API.
extension EmulatedWorld {
    static let bundleID = "com.example.learnpoints"

    /// A bearer token as Apple's library creates it, with a test's changes.
    func bearer(
        claims more: [String: JSONValue] = [:], header moreHeader: [String: JSONValue] = [:],
        key other: PrivateKey? = nil
    ) async throws -> [(name: String, value: String)] {
        let key = await ask(.get, "/emulator/api-key").json
        let header: [String: JSONValue] = ["alg": "ES256", "kid": key["keyId"] ?? .null, "typ": "JWT"]
        // By the store's time, which a test may advance without the given clock.
        let now = emulator.store.now.seconds
        let claims: [String: JSONValue] = [
            "iss": key["issuerId"] ?? .null, "iat": .int(now), "exp": .int(now + 300),
            "aud": "appstoreconnect-v1", "bid": key["bundleId"] ?? .null,
        ]
        let head = JSONValue.object(header.merging(moreHeader) { _, new in new }).encoded()
        let body = JSONValue.object(claims.merging(more) { _, new in new }).encoded()
        let message = Base64.encode(Array(head.utf8), .url) + "." + Base64.encode(Array(body.utf8), .url)
        let signer = try other ?? PrivateKey(pem: try #require(key["privateKey"]?.string))
        let signature = Base64.encode(try signer.signES256(Array(message.utf8)), .url)
        return [("Authorization", "Bearer \(message).\(signature)")]
    }

    /// Calls with a valid token.
    func call(
        _ route: ServerAPIRoute, _ id: String = "", product: String = "",
        query: [(name: String, value: String)] = [], body: [UInt8] = [], bundleID: String = EmulatedWorld.bundleID
    ) async throws -> (status: Int, json: JSONValue, response: HTTPResponse) {
        let path = route.pattern.replacingOccurrences(of: "{id}", with: id)
            .replacingOccurrences(of: "{product}", with: product)
        let headers = HTTPHeaders(try await bearer(claims: ["bid": .string(bundleID)]))
        let response = await emulator.respond(
            to: HTTPRequest(method: route.method, path: path, query: query, headers: headers, body: body))
        return (response.status, (try? JSONValue(decoding: response.body)) ?? .null, response)
    }

    func call(
        _ route: ServerAPIRoute, _ id: String = "", query: [(name: String, value: String)] = [], json body: JSONValue
    ) async throws -> (status: Int, json: JSONValue, response: HTTPResponse) {
        try await call(route, id, query: query, body: Array(body.encoded().utf8))
    }

    /// Buys, and returns the transaction's id.
    func bought(_ product: String = "points60", _ more: [String: JSONValue] = [:]) async throws -> String {
        try #require(try await buy(product, more)["transactionId"]?.string)
    }

    /// Our own client of the same API, connected in process. A pause advances the clock.
    func client(quotas: RequestQuotas = RequestQuotas()) async throws -> ServerAPI {
        let key = await ask(.get, "/emulator/api-key").json
        let host = "http://store.test"
        let effects = AppleEffects(
            exchange: { [emulator] request async throws(AppleConnectionError) in
                guard let method = HTTPMethod(rawValue: request.method.rawValue) else {
                    throw AppleConnectionError(.unreachable)
                }
                let parts = request.url.dropFirst(host.count).split(separator: "?", maxSplits: 1)
                guard let path = try? PercentEncoding.decode(parts[0].utf8),
                    let query = try? PercentEncoding.items((parts.count > 1 ? String(parts[1]) : "").utf8)
                else { throw AppleConnectionError(.unreachable) }
                let headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
                let response = await emulator.respond(
                    to: HTTPRequest(method: method, path: path, query: query, headers: headers, body: request.body))
                return AppleResponse(
                    status: response.status, headers: response.headers.fields.map { .init($0.name, $0.value) },
                    body: response.body)
            },
            clock: { [emulator] in emulator.store.now }, entropy: { RandomBytes.make($0) },
            pause: { [self] in advance(seconds: max(1, $0 / 1_000)) })
        return ServerAPI(
            key: try InAppPurchaseKey(
                issuerID: try #require(key["issuerId"]?.string), keyID: try #require(key["keyId"]?.string),
                privateKey: PrivateKey(pem: try #require(key["privateKey"]?.string))),
            bundleID: Self.bundleID, hosts: .emulator(at: host),
            environments: [emulator.configuration.environment], effects: effects,
            budget: RequestBudget(effects: effects, quotas: quotas))
    }
}

/// Writes rows directly into the store, beyond what customers could do.
extension EmulatedWorld {
    /// A changed copy of a transaction of the store, under a new number.
    @discardableResult
    func insert(
        like number: String, _ alter: @escaping @Sendable (inout StoreTransaction) -> Void
    ) async throws -> StoreTransaction {
        let number = try #require(Int64(number))
        return try await emulator.store.change { change in
            var copy = try #require(try TransactionTable.find(number, change.connection))
            copy.number = try Counter.transaction.take(change.connection)
            copy.original = copy.number
            alter(&copy)
            return try TransactionTable.insert(copy, change.connection)
        }
    }

    func deleteAccount(_ name: String) async throws {
        try await emulator.store.change { change in
            var account = try #require(try AccountTable.find(name, change.connection))
            account.isDeleted = true
            try AccountTable.update(account, change.connection)
        }
    }
}
