import TillBilling
import TillHTTP

/// A connection from one program to another with configurable faults: requests and answers are delayed, repeated,
/// reordered or lost; a program killed at either end leaves the other with a broken connection.
final class Link: @unchecked Sendable {
    /// The answering program at this moment; nil if none is running.
    struct End: @unchecked Sendable {
        let process: SimulatedProcess
        let respond: @Sendable (HTTPRequest) async -> HTTPResponse
    }

    let name: String
    private let scheduler: SimulatedScheduler
    private let faults: FaultLog
    private let end: () -> End?
    private var random: SeededRandom

    init(_ name: String, _ world: SimulationContext, to end: @escaping () -> End?) {
        self.name = name
        scheduler = world.scheduler
        faults = world.faults
        random = SeededRandom(seed: world.seed, stream: "link \(name)")
        self.end = end
    }

    /// Whether the network may repeat a request.
    var repeats: (HTTPRequest) -> Bool = { _ in true }
    /// Observes every request.
    var observe: ((HTTPRequest) -> Void)?
    /// Milliseconds after which the sender gives up; the answer may still be in transit.
    var timeout: Int64 = 30_000

    /// - Parameter sender: after its end, requests are neither sent nor answered.
    func send(_ request: HTTPRequest, from sender: SimulatedProcess) async throws(HTTPError) -> HTTPResponse {
        let exchange = Exchange()
        let result = await withUnsafeContinuation { continuation in
            guard sender.isAlive else { return }
            exchange.continuation = continuation
            begin(request, exchange)
        }
        switch result {
        case .success(let response): return try response.arrived()
        case .failure(let fault): throw fault
        }
    }

    /// One request and its single answer.
    private final class Exchange: @unchecked Sendable {
        var continuation: UnsafeContinuation<Result<HTTPResponse, HTTPError>, Never>?

        func finish(_ result: Result<HTTPResponse, HTTPError>) {
            let waiting = continuation
            continuation = nil
            waiting?.resume(returning: result)
        }

        var isOpen: Bool { continuation != nil }
    }

    private func begin(_ request: HTTPRequest, _ exchange: Exchange) {
        observe?(request)
        scheduler.after(timeout) { exchange.finish(.failure(HTTPError(.timedOut, "no answer in time"))) }
        if faults.occurs(.cut, at: name, request.path) {
            let delay = random.between(1, 3_000)
            scheduler.after(delay) { exchange.finish(.failure(HTTPError(.cannotConnect, "the line is cut"))) }
            return
        }
        if faults.occurs(.requestLost, at: name, request.path) { return }
        scheduler.after(latency(request)) { self.arrive(request, exchange) }
        if repeats(request), faults.occurs(.duplicated, at: name, request.path) {
            // The copy may overtake the original, or arrive much later.
            let delay = random.chance(0.5) ? random.between(1, 500) : random.between(1_000, 7_200_000)
            scheduler.after(delay) { self.arrive(request, Exchange()) }
        }
    }

    private func latency(_ request: HTTPRequest) -> Int64 {
        let usual = random.between(2, 120)
        guard faults.occurs(.delayed, at: name, request.path) else { return usual }
        return random.chance(0.7) ? random.between(500, 20_000) : random.between(20_000, 300_000)
    }

    private func arrive(_ request: HTTPRequest, _ exchange: Exchange) {
        guard let end = end() else {
            scheduler.after(random.between(1, 50)) { exchange.finish(.failure(HTTPError(.cannotConnect, "refused"))) }
            return
        }
        let process = end.process
        let endHandler = process.onEnd { [self] in
            scheduler.after(random.between(1, 50)) {
                exchange.finish(.failure(HTTPError(.connectionLost, "the other end is gone")))
            }
        }
        process.spawn { [self] in
            let response = await end.respond(request)
            guard process.isAlive else { return }
            process.forget(endHandler: endHandler)
            answer(response, of: request, to: exchange)
        }
    }

    private func answer(_ response: HTTPResponse, of request: HTTPRequest, to exchange: Exchange) {
        guard exchange.isOpen else { return }
        if faults.occurs(.answerLost, at: name, request.path) {
            let delay = random.between(1, 2_000)
            scheduler.after(delay) {
                exchange.finish(.failure(HTTPError(.connectionLost, "the answer was lost")))
            }
            return
        }
        var response = response
        if faults.occurs(.garbled, at: name, request.path) {
            response = Self.garbled[random.below(Self.garbled.count)]
        }
        scheduler.after(latency(request)) { exchange.finish(.success(response)) }
    }

    /// Answers of an intermediary.
    private static let garbled = [
        HTTPResponse(
            status: 502, headers: HTTPHeaders([("Content-Type", "text/html")]),
            body: Array("<html><h1>502 Bad Gateway</h1></html>".utf8)),
        HTTPResponse(status: 503, headers: HTTPHeaders([("Retry-After", "7")])),
        HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", "text/html")]),
            body: Array("<html>Welcome to the hotel's network</html>".utf8)),
        HTTPResponse(status: 200),
        HTTPResponse(status: 302, headers: HTTPHeaders([("Location", "http://login.invalid/")])),
        HTTPResponse(status: 429, headers: HTTPHeaders([("Retry-After", "30")])),
    ]
}
