import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// The app backend's endpoint for events: it verifies signatures, accepts each event once, and expects a user's events
/// in order. It is down from time to time.
final class WebhookReceiver: @unchecked Sendable {
    static let url = "http://receiver.simulated/events"

    let process: SimulatedProcess
    private let parts: SimulationContext
    private(set) var isDown = false
    private(set) var received: Set<String> = []
    /// The number of each user's last event.
    private var last: [String: Int64] = [:]
    /// Points by user, summed up from events.
    private(set) var points: [String: Int64] = [:]
    /// Violations of the webhook contract.
    private(set) var complaints: [String] = []
    private var random: SeededRandom

    private let longestOutage: Int64

    /// - Parameter longestOutage: in milliseconds. Two long outages in a row exceed the server's retries.
    init(_ parts: SimulationContext, longestOutage: Int64 = 2 * 86_400_000) {
        self.longestOutage = longestOutage
        self.parts = parts
        process = SimulatedProcess("receiver", on: parts.scheduler)
        random = SeededRandom(seed: parts.seed, stream: "receiver")
    }

    var end: Link.End? {
        guard !isDown else { return nil }
        return Link.End(process: process) { [self] in take($0) }
    }

    func live(while isRunning: @escaping @Sendable () -> Bool) async {
        while isRunning() {
            await parts.scheduler.pause(random.between(1_800_000, 7_200_000))
            guard isRunning(), parts.faults.occurs(.receiverDown, at: "receiver") else { continue }
            isDown = true
            await parts.scheduler.pause(random.between(600_000, longestOutage))
            isDown = false
        }
    }

    func comeBack() { isDown = false }

    private func take(_ request: HTTPRequest) -> HTTPResponse {
        guard let id = request.headers["webhook-id"], isGenuine(request, id) else {
            complaints.append("an event whose signature is wrong")
            return HTTPResponse(status: 401)
        }
        guard received.insert(id).inserted else { return HTTPResponse(status: 204) }
        guard case .object(let members)? = try? JSONValue(decoding: request.body) else {
            complaints.append("\(id) is not JSON")
            return HTTPResponse(status: 400)
        }
        if case .string(let user)? = members["userId"], case .int(let number)? = members["userSequence"] {
            let before = last[user] ?? 0
            if number != before + 1 { complaints.append("\(user)'s event \(number) came after \(before)") }
            last[user] = max(before, number)
            if case .object(let data)? = members["data"], case .array(let postings)? = data["postings"] {
                points[user, default: 0] += postings.reduce(0) { $0 + Self.amount($1) }
            }
        }
        parts.log.record(
            "receiver", "receives \(Self.text(members["type"])) \(id)", about: Self.subjects(members))
        return HTTPResponse(status: 204)
    }

    private func isGenuine(_ request: HTTPRequest, _ id: String) -> Bool {
        guard let seconds = request.headers["webhook-timestamp"] else { return false }
        let signed = Array("\(id).\(seconds).".utf8) + request.body
        let code = Base64.encode(HMACSHA256.code(for: signed, key: SimulatedShop.webhookSecret))
        return request.headers["webhook-signature"] == "v1," + code
    }

    /// The points granted by a purchase or taken by a refund. A move between customers is not counted, because its
    /// points were granted before.
    private static func amount(_ posting: JSONValue) -> Int64 {
        guard case .object(let members) = posting, case .int(let amount)? = members["amount"],
            text(members["kind"]) != "moved"
        else { return 0 }
        return amount
    }

    private static func text(_ value: JSONValue?) -> String {
        if case .string(let text)? = value { text } else { "" }
    }

    private static func subjects(_ members: [String: JSONValue]) -> [String] {
        var subjects: [String] = []
        if case .object(let data)? = members["data"] {
            if case .string(let id)? = data["transactionId"] { subjects.append("transaction \(id)") }
            if case .string(let id)? = data["orderId"] { subjects.append("order \(id)") }
        }
        if case .string(let user)? = members["userId"] { subjects.append("user \(user)") }
        return subjects
    }
}
