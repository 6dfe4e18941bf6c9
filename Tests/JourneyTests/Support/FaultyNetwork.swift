import Foundation
import TillHTTP
import TillThreads

/// The phone's two connections, to the server and to the store. A test can cut them, and count their requests.
final class FaultyNetwork: Sendable {
    enum End: String, Sendable {
        case server
        case store
    }

    /// The faults of a connection.
    enum NetworkFault: Sendable {
        /// Nothing arrives.
        case off
        /// Nothing arrives until the condition holds.
        case offUntil(@Sendable () async -> Bool)
        /// The request is processed, and its answer is lost.
        case answerLost
        /// Another server answers, and the request is not processed.
        case answered(HTTPResponse)
        /// An attacker in between changes the request.
        case altered(@Sendable (HTTPRequest) -> HTTPRequest)
        /// The answer is ready, and is held.
        case slow(Gate)
    }

    private struct Cut: Sendable {
        let end: End
        let path: String
        let trouble: NetworkFault
    }

    private struct State {
        var cuts: [Cut] = []
        var happened = 0
        var asked: [String] = []
    }

    private let state = Locked(State())

    /// From now on, for requests whose method and path contain the text; for all without one.
    func cut(_ end: End, _ path: String = "", _ trouble: NetworkFault = .off) {
        state.withLock { $0.cuts.append(Cut(end: end, path: path, trouble: trouble)) }
    }

    func mend() { state.withLock { $0.cuts = [] } }

    /// The number of faults since the phone was made.
    var happened: Int { state.withLock { $0.happened } }

    /// The number of requests that arrived or were meant to, such as `POST /v1/orders`.
    func count(_ end: End, _ path: String) -> Int {
        state.withLock { $0.asked.filter { $0.hasPrefix(end.rawValue) && $0.hasSuffix(path) }.count }
    }

    typealias Send = @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse

    func carry(
        _ request: HTTPRequest, to end: End, in run: AppRun, _ send: Send
    ) async throws(HTTPError) -> HTTPResponse {
        let name = "\(request.method.rawValue) \(Self.pattern(request.path))"
        // The number of an app's polls depends on how long it lives.
        let isNews = name.hasSuffix("/news")
        guard isNews ? !run.isDead : run.step("\(end.rawValue) \(name)") else {
            throw HTTPError(.cannotConnect, "killed")
        }
        let response = try await deliver(request, "\(request.method.rawValue) \(request.path)", to: end, send)
        guard isNews ? !run.isDead : run.step("\(end.rawValue) answers \(name)") else {
            throw HTTPError(.connectionLost, "killed")
        }
        return response
    }

    private func deliver(
        _ request: HTTPRequest, _ name: String, to end: End, _ send: Send
    ) async throws(HTTPError) -> HTTPResponse {
        let cut = state.withLock { state in
            state.asked.append("\(end.rawValue) \(name)")
            let cut = state.cuts.first { $0.end == end && ($0.path.isEmpty || name.contains($0.path)) }
            if cut != nil { state.happened += 1 }
            return cut
        }
        switch cut?.trouble {
        case nil: return try await send(request)
        case .off: throw HTTPError(.cannotConnect, "cut")
        case .offUntil(let holds):
            guard await holds() else { throw HTTPError(.cannotConnect, "cut") }
            return try await send(request)
        case .answerLost:
            _ = try await send(request)
            throw HTTPError(.connectionLost, "cut")
        case .answered(let response): return response
        case .altered(let change): return try await send(change(request))
        case .slow(let gate):
            let response = try await send(request)
            await gate.pass()
            return response
        }
    }

    /// The path with a star for each part that differs between journeys.
    private static func pattern(_ path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0 != "v1" && $0.contains(where: \.isNumber) ? "*" : $0 }
            .joined(separator: "/")
    }
}

/// Closed until it is opened; then open for ever.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for one in waiting { one.resume() }
        waiting = []
    }
}

/// Returns as soon as the condition holds, or after a while.
@discardableResult
func eventually(
    within seconds: Double = 15, _ holds: @Sendable () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if try await holds() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return try await holds()
}
