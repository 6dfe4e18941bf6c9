import Foundation
import Testing
import TillBilling
import TillHTTP
import TillThreads

/// The lines from one phone to the server and to the store. They can be held at any message that changes something:
/// before it arrives at the other end, or after that and before its answer leaves. A held message is never answered.
final class PausingProxy: Sendable {
    private struct State {
        /// Messages so far, each counted before it arrives and again before its answer leaves.
        var steps = 0
        var holdAt: Int?
        var isHeld = false
        var messages: [String] = []
    }

    private let shop: Shop
    private let state = Locked(State())
    private let held: AsyncStream<Void>
    private let tell: AsyncStream<Void>.Continuation
    private let listeners = Locked<[Listener]>([])

    private init(_ shop: Shop) {
        self.shop = shop
        (held, tell) = AsyncStream<Void>.makeStream()
    }

    /// Opens both lines for the duration of `use`.
    static func open(_ shop: Shop, _ use: (PausingProxy, _ server: String, _ store: String) async throws -> Void)
        async throws
    {
        let line = PausingProxy(shop)
        let server = try line.listen { try await shop.deliver($0) }
        let store = try line.listen { await shop.emulator.respond(to: $0) }
        do {
            try await use(line, server, store)
        } catch {
            await line.close()
            throw error
        }
        await line.close()
    }

    private func listen(_ forward: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) throws -> String {
        let listener = try Listener(configuration: ListenerConfiguration(), bodyLimit: { _, _ in 8 << 20 }) { request in
            await self.carry(request, by: forward)
        }
        listeners.withLock { $0.append(listener) }
        return "http://127.0.0.1:\(listener.port)"
    }

    private func close() async {
        for listener in listeners.withLock({ $0 }) { await listener.stop(grace: 1) }
    }

    /// Holds the message after that many more steps; until then every message passes.
    func hold(at step: Int?) { state.withLock { $0 = State(holdAt: step) } }

    /// The messages since then, and whether one of them is held.
    var messages: [String] { state.withLock { $0.messages } }
    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// Returns once a message is held; never, if none is.
    func untilHeld() async {
        if isHeld { return }
        for await _ in held where isHeld { return }
    }

    private func carry(
        _ request: HTTPRequest, by forward: (HTTPRequest) async throws -> HTTPResponse
    ) async -> HTTPResponse {
        // A request that only reads is no step of a purchase.
        guard request.method == .post, !request.path.hasSuffix("/products") else {
            return (try? await forward(request)) ?? .hangUp
        }
        guard step("→ \(request.method.rawValue) \(request.path)") else { return .hangUp }
        guard let answer = try? await forward(request) else { return .hangUp }
        guard step("← \(request.method.rawValue) \(request.path)") else { return .hangUp }
        return answer
    }

    /// - Returns: whether the message goes on. From the held one on none does: the other end hangs up, and the phone is
    ///   killed before it notices.
    private func step(_ message: String) -> Bool {
        let (passes, isFirst) = state.withLock { state -> (Bool, Bool) in
            if state.isHeld { return (false, false) }
            if state.steps == state.holdAt {
                state.isHeld = true
                state.messages.append("held: \(message)")
                return (false, true)
            }
            state.steps += 1
            state.messages.append(message)
            return (true, false)
        }
        if isFirst { tell.yield() }
        return passes
    }
}
