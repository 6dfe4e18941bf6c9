import Testing
import TillBilling
import TillJSON
import TillThreads

@testable import TillAppStore

/// Apple's service as a list of answers. It records the requests and uses a test clock.
final class CannedApple: Sendable {
    typealias Answering = @Sendable (AppleRequest) throws(AppleConnectionError) -> AppleResponse

    private struct State {
        var asked: [AppleRequest] = []
        var pauses: [Int64] = []
        var now = TestAuthority.today
    }

    private let state = Locked(State())
    private let answering: Answering

    init(_ answering: @escaping Answering) { self.answering = answering }

    /// Gives the answers one after the other, and repeats the last one.
    convenience init(_ answers: AppleResponse...) {
        let rest = Locked(answers)
        self.init { _ in rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }
    }

    var asked: [AppleRequest] { state.withLock { $0.asked } }
    var pauses: [Int64] { state.withLock { $0.pauses } }
    var now: Instant { state.withLock { $0.now } }

    func advance(milliseconds: Int64) {
        state.withLock { $0.now = $0.now.adding(milliseconds: milliseconds) }
    }

    /// Effects on a clock that advances when a caller pauses.
    var effects: AppleEffects {
        AppleEffects(
            exchange: { request async throws(AppleConnectionError) in
                self.state.withLock { $0.asked.append(request) }
                return try self.answering(request)
            },
            clock: { self.now },
            entropy: { [UInt8](repeating: 0, count: $0) },
            pause: { milliseconds in
                self.state.withLock { state in
                    state.pauses.append(milliseconds)
                    state.now = state.now.adding(milliseconds: milliseconds)
                }
            })
    }

    static let key: InAppPurchaseKey? = try? InAppPurchaseKey(
        issuerID: "57246542-96fe-1a63-e053-0824d011072a", keyID: "2X9R4HXF34", privateKey: .generate(.p256))

    func api(environments: Set<StoreEnvironment> = [.production, .sandbox]) throws -> ServerAPI {
        ServerAPI(
            key: try #require(Self.key), bundleID: "com.example.learn", environments: environments, effects: effects,
            budget: RequestBudget(effects: effects))
    }
}

extension AppleResponse {
    static func json(_ body: JSONValue, status: Int = 200) -> AppleResponse {
        AppleResponse(
            status: status, headers: [.init("Content-Type", "application/json")], body: Array(body.encoded().utf8))
    }

    static func error(_ code: Int64, _ message: String = "Said Apple.") -> AppleResponse {
        json(["errorCode": .int(code), "errorMessage": .string(message)], status: Int(code / 10_000))
    }

    static func text(_ text: String, status: Int = 200, type: String? = "text/html") -> AppleResponse {
        AppleResponse(
            status: status, headers: type.map { [.init("Content-Type", $0)] } ?? [], body: Array(text.utf8))
    }

    static let empty = AppleResponse(status: 200)
}

/// The fault of a call; nil if it returned a value.
func thrownError<Value>(_ call: () async throws(ServerAPIError) -> Value) async -> ServerAPIError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}
