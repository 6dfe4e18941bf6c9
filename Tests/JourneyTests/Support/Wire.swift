import Foundation
import TillHTTP
import TillThreads

/// The two ways out of a phone, to our server and to the store, which a test cuts, and counts what goes over.
final class Wire: Sendable {
    enum End: String, Sendable {
        case server
        case store
    }

    /// What goes wrong on the way.
    enum Trouble: Sendable {
        /// Nothing arrives.
        case off
        /// It is done, and nobody hears of it.
        case answerLost
        /// Something else answers, and nothing is done.
        case answered(HTTPResponse)
        /// Somebody in between changes the request.
        case altered(@Sendable (HTTPRequest) -> HTTPRequest)
        /// The answer is there, and waits.
        case slow(Gate)
    }

    private struct Cut: Sendable {
        let end: End
        let path: String
        let trouble: Trouble
    }

    private struct State {
        var cuts: [Cut] = []
        var struck = 0
        var asked: [String] = []
    }

    private let state = Locked(State())

    /// From now on, for requests whose method and path contain the text; all of them without one.
    func cut(_ end: End, _ path: String = "", _ trouble: Trouble = .off) {
        state.withLock { $0.cuts.append(Cut(end: end, path: path, trouble: trouble)) }
    }

    func mend() { state.withLock { $0.cuts = [] } }

    /// How often something went wrong since the phone was made.
    var struck: Int { state.withLock { $0.struck } }

    /// How many requests arrived or were meant to, such as `POST /v1/orders`.
    func count(_ end: End, _ path: String) -> Int {
        state.withLock { $0.asked.filter { $0.hasPrefix(end.rawValue) && $0.hasSuffix(path) }.count }
    }

    typealias Send = @Sendable (HTTPRequest) async throws(HTTPFault) -> HTTPResponse

    func carry(
        _ request: HTTPRequest, to end: End, in run: AppRun, _ send: Send
    ) async throws(HTTPFault) -> HTTPResponse {
        let name = "\(request.method.rawValue) \(Self.pattern(request.path))"
        // How often an app looks for news depends on how long it lives.
        let isNews = name.hasSuffix("/news")
        guard isNews ? !run.isDead : run.step("\(end.rawValue) \(name)") else {
            throw HTTPFault(.cannotConnect, "killed")
        }
        let response = try await deliver(request, "\(request.method.rawValue) \(request.path)", to: end, send)
        guard isNews ? !run.isDead : run.step("\(end.rawValue) answers \(name)") else {
            throw HTTPFault(.connectionLost, "killed")
        }
        return response
    }

    private func deliver(
        _ request: HTTPRequest, _ name: String, to end: End, _ send: Send
    ) async throws(HTTPFault) -> HTTPResponse {
        let cut = state.withLock { state in
            state.asked.append("\(end.rawValue) \(name)")
            let cut = state.cuts.first { $0.end == end && ($0.path.isEmpty || name.contains($0.path)) }
            if cut != nil { state.struck += 1 }
            return cut
        }
        switch cut?.trouble {
        case nil: return try await send(request)
        case .off: throw HTTPFault(.cannotConnect, "cut")
        case .answerLost:
            _ = try await send(request)
            throw HTTPFault(.connectionLost, "cut")
        case .answered(let response): return response
        case .altered(let change): return try await send(change(request))
        case .slow(let gate):
            let response = try await send(request)
            await gate.pass()
            return response
        }
    }

    /// The path with a star for whatever is another one in another journey.
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

/// Comes back as soon as it holds, or after a while.
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
