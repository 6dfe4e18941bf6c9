import TillHTTP
import TillJSON
import TillThreads

/// The app's backend: accepts every event and remembers the order in which it came.
final class WebhookLog: Sendable {
    struct Event: Sendable, Hashable {
        let id: String
        let user: String?
        let userSequence: Int64?
        let sequence: Int64
    }

    struct Contents: Sendable {
        /// Each event at its first delivery.
        var firsts: [Event] = []
        var byID: [String: Event] = [:]
        var repetitions = 0
        var wrong: [String] = []
    }

    static let port: UInt16 = 9_090
    static var url: String { "http://\(FailoverCluster.own):\(port)/events" }

    private let contents = Locked(Contents())

    var all: Contents { contents.withLock { $0 } }

    func listen() throws -> Listener {
        var configuration = ListenerConfiguration()
        configuration.address = FailoverCluster.own
        configuration.port = Self.port
        return try Listener(configuration: configuration, bodyLimit: { _, _ in 1 << 20 }) { [self] request in
            HTTPResponse(status: take(request) ? 204 : 400)
        }
    }

    private func take(_ request: HTTPRequest) -> Bool {
        guard let json = try? JSONValue(decoding: request.body), let id = json["id"]?.string,
            let sequence = json["sequence"]?.int
        else { return false }
        let event = Event(
            id: id, user: json["userId"]?.string, userSequence: json["userSequence"]?.int, sequence: sequence)
        contents.withLock { contents in
            if request.headers["webhook-id"] != id { contents.wrong.append("\(id) came under another webhook-id") }
            guard let known = contents.byID[id] else {
                contents.byID[id] = event
                contents.firsts.append(event)
                return
            }
            contents.repetitions += 1
            if known != event { contents.wrong.append("\(id) was repeated as another event") }
        }
        return true
    }
}
