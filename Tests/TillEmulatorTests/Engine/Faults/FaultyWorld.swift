import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillThreads

@testable import TillAppStore
@testable import TillEmulator

/// An emulator in process with fault rates set by a test. Waiting takes no time unless the test says otherwise.
final class FaultyWorld: Sendable {
    let world: EmulatedWorld
    let emulator: Emulator
    private let received: Locked<[String]>
    private let pauses: Locked<[Int64]>

    private init(_ world: EmulatedWorld, _ emulator: Emulator, _ received: Locked<[String]>, _ pauses: Locked<[Int64]>)
    {
        self.world = world
        self.emulator = emulator
        self.received = received
        self.pauses = pauses
    }

    /// Notifications in the order of arrival, whatever the answer was.
    var notifications: [String] { received.withLock { $0 } }
    /// The milliseconds of every pause, in the order of their starts.
    var waited: [Int64] { pauses.withLock { $0 } }

    /// - Parameters:
    ///   - pause: the waiting effect; nil: waiting is impossible.
    ///   - send: where notifications go; nil: into `notifications`.
    static func open(
        _ configuration: EmulatorConfiguration = EmulatorConfiguration(),
        pause: (@Sendable (Int64) async -> Void)? = { _ in }, send: HTTPSend? = nil,
        _ body: (FaultyWorld) async throws -> Void
    ) async throws {
        let world = try await EmulatedWorld(configuration)
        let emulator: Emulator
        let (received, pauses) = (Locked<[String]>([]), Locked<[Int64]>([]))
        let counted = pause.map { pause in
            { @Sendable (milliseconds: Int64) async in
                pauses.withLock { $0.append(milliseconds) }
                await pause(milliseconds)
            }
        }
        emulator = try await Emulator(
            configuration: configuration, database: world.database, clock: { world.now },
            entropy: { RandomBytes.make($0) },
            send: { url, request throws(HTTPError) in
                if let send { return try await send(url, request) }
                let token = try? JSONValue(decoding: request.body)["signedPayload"]?.string
                received.withLock { $0.append(token ?? "") }
                return HTTPResponse(status: 200)
            }, pause: counted)
        do {
            try await body(FaultyWorld(world, emulator, received, pauses))
        } catch {
            await world.remove()
            throw error
        }
        await world.remove()
    }

    // MARK: Requests

    func ask(
        _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil,
        headers: [(name: String, value: String)] = []
    ) async -> (isHangUp: Bool, status: Int, json: JSONValue, response: HTTPResponse) {
        let response = await emulator.respond(
            to: HTTPRequest(
                method: method, path: path, headers: HTTPHeaders(headers),
                body: body.map { Array($0.encoded().utf8) } ?? []))
        return (
            response.isHangUp, response.status, (try? JSONValue(decoding: response.body)) ?? .null, response
        )
    }

    /// Sets the fault rates, replacing all earlier ones.
    func change(_ rates: JSONValue) async throws {
        let answer = await ask(.put, "/emulator/faults", rates)
        try #require(answer.status == 200, "\(answer.json.encoded())")
    }

    func struck(_ endpoint: String, _ fault: String) async -> Int64 {
        await ask(.get, "/emulator/faults").json["injected"]?[endpoint]?[fault]?.int ?? 0
    }

    func total() async -> Int64 { await ask(.get, "/emulator/state").json["transactions"]?["total"]?.int ?? -1 }

    /// The body of a purchase in the sample app.
    static func purchase(_ product: String = "points60", _ more: [String: JSONValue] = [:]) -> JSONValue {
        let body: [String: JSONValue] = [
            "bundleId": "com.example.learnpoints", "productId": .string("com.example.learnpoints.\(product)"),
            "receipt": false,
        ]
        return .object(body.merging(more) { _, new in new })
    }

    func buy(_ product: String = "points60", _ more: [String: JSONValue] = [:]) async -> (
        isHangUp: Bool, status: Int, json: JSONValue, response: HTTPResponse
    ) {
        await ask(.post, "/emulator/purchases", Self.purchase(product, more))
    }

    /// Our own client of the server API; a missing answer counts as an outage.
    func serverAPI(_ effects: AppleEffects? = nil) async throws -> ServerAPI {
        let key = await ask(.get, "/emulator/api-key").json
        let effects =
            effects
            ?? AppleEffects(
                exchange: exchange, clock: { self.world.now }, entropy: { RandomBytes.make($0) },
                pause: { self.world.advance(seconds: $0 / 1_000 + 1) })
        return ServerAPI(
            key: try InAppPurchaseKey(
                issuerID: key["issuerId"]?.string ?? "", keyID: key["keyId"]?.string ?? "",
                privateKey: try PrivateKey(pem: key["privateKey"]?.string ?? "")),
            bundleID: "com.example.learnpoints", hosts: .emulator(at: "http://store.test"), environments: [.sandbox],
            effects: effects, budget: RequestBudget(effects: effects))
    }

    var exchange: AppleSend {
        { request async throws(AppleConnectionError) -> AppleResponse in
            let path = String(request.url.dropFirst("http://store.test".count))
            let response = await self.emulator.respond(
                to: HTTPRequest(
                    method: HTTPMethod(rawValue: request.method.rawValue) ?? .get,
                    path: path.split(separator: "?").first.map(String.init) ?? path,
                    headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }), body: request.body))
            do throws(HTTPError) {
                let arrived = try response.arrived()
                return AppleResponse(
                    status: arrived.status, headers: arrived.headers.fields.map { .init($0.name, $0.value) },
                    body: arrived.body)
            } catch {
                throw AppleConnectionError(.connectionLost, error.detail)
            }
        }
    }

    /// A bearer token that the store accepts.
    func bearer() async throws -> [(name: String, value: String)] {
        let key = await ask(.get, "/emulator/api-key").json
        let tokens = BearerTokens(
            key: try InAppPurchaseKey(
                issuerID: key["issuerId"]?.string ?? "", keyID: key["keyId"]?.string ?? "",
                privateKey: try PrivateKey(pem: key["privateKey"]?.string ?? "")),
            bundleID: "com.example.learnpoints")
        return [("Authorization", "Bearer \(try tokens.token(at: world.now))")]
    }
}
