import TillHTTP
import TillJSON
import TillThreads

/// The destination of the emulator's notifications; set once there is one.
final class Relay: Sendable {
    typealias Target = @Sendable (HTTPRequest) async -> HTTPResponse
    private let targets = Locked<(target: Target?, interceptor: Target?)>((nil, nil))

    var target: Target? {
        get { targets.withLock { $0.target } }
        set { targets.withLock { $0.target = newValue } }
    }

    var interceptor: Target? {
        get { targets.withLock { $0.interceptor } }
        set { targets.withLock { $0.interceptor = newValue } }
    }

    func send(_ url: String, _ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        guard let receiver = targets.withLock({ $0.interceptor ?? $0.target }) else {
            throw HTTPError(.cannotConnect, "no server listens")
        }
        var request = request
        request.path = "/v1/notifications/apple"
        return await receiver(request)
    }
}

/// Notifications that were caught on their way.
final class RequestRecorder: Sendable {
    private let found = Locked<[String]>([])
    var payloads: [String] { found.withLock { $0 } }

    func take(_ request: HTTPRequest) {
        guard let body = try? JSONValue(decoding: request.body) else { return }
        found.withLock { $0.append(body.at("signedPayload").text) }
    }
}
