import TillHTTP
import TillJSON

/// A notification that its sender considers timed out and that will still be delivered.
struct LateNotification: Sendable {
    let url: String
    let request: HTTPRequest
    var isOld = false
}

/// Faults between the store and the developer's server.
extension FaultInjector {
    /// Wraps `send` with fault injection.
    func injectingFaults(_ send: @escaping HTTPSend) -> HTTPSend {
        { url, request async throws(HTTPError) -> HTTPResponse in
            let late = self.takeLate()
            let result: Result<HTTPResponse, HTTPError>
            do throws(HTTPError) {
                result = .success(try await self.post(request, to: url, holdsBack: late == nil, by: send))
            } catch {
                result = .failure(error)
            }
            await self.deliver(late, by: send)
            return try result.get()
        }
    }

    private func post(
        _ request: HTTPRequest, to url: String, holdsBack: Bool, by send: HTTPSend
    ) async throws(HTTPError) -> HTTPResponse {
        guard let faults = draw(.notifications) else { return try await send(url, request) }
        await delay(faults)
        if Task.isCancelled { throw HTTPError(.stopped, "cancelled while it was delayed") }
        if faults.includes(.dropBefore) {
            count(.dropBefore, at: faults.endpoint)
            throw HTTPError(.timedOut, "dropped on the way out")
        }
        if let broken = faultResponse(faults, request) { return broken }
        var request = request
        if faults.includes(.forgery), let forged = Self.forged(request) {
            count(.forgery, at: faults.endpoint)
            request = forged
        }
        if faults.includes(.reorder), holdsBack, hold(LateNotification(url: url, request: request)) {
            // The sender posts one at a time, so the next goes out only after this attempt has failed; this one is
            // delivered later.
            count(.reorder, at: faults.endpoint)
            throw HTTPError(.timedOut, "overtaken by the next one")
        }
        if faults.includes(.duplicate) {
            count(.duplicate, at: faults.endpoint)
            // Only the second delivery's result is reported.
            _ = try? await send(url, request)
        }
        let response = try await send(url, request)
        guard faults.includes(.dropAfter) else { return response }
        count(.dropAfter, at: faults.endpoint)
        throw HTTPError(.connectionLost, "the answer was dropped on the way back")
    }

    // MARK: Late deliveries

    /// Delivers the held notification if no later one has overtaken it.
    func deliverLate(by send: HTTPSend) async { await deliver(takeLate(), by: send) }

    /// Delivers a held notification at the second wake after it was held, until its task is cancelled.
    func runLateDeliveries(by send: HTTPSend) async {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signal.withLock { $0 = continuation }
        for await _ in stream { await deliver(takeLate(orAge: true), by: send) }
    }

    func wakeLateDeliveries() { _ = signal.withLock { $0?.yield() } }

    private func deliver(_ late: LateNotification?, by send: HTTPSend) async {
        guard let late else { return }
        // No sender waits for this answer.
        _ = try? await send(late.url, late.request)
    }

    // MARK: Forgery

    /// The same notification with another signature; nil if the request is no notification.
    private static func forged(_ request: HTTPRequest) -> HTTPRequest? {
        guard case .object(var members)? = try? JSONValue(decoding: request.body),
            let token = members["signedPayload"]?.string, let dot = token.lastIndex(of: ".")
        else { return nil }
        let signature = token[token.index(after: dot)...]
        guard let first = signature.first else { return nil }
        let other: Character = first == "A" ? "B" : "A"
        members["signedPayload"] = .string(token[...dot] + String(other) + signature.dropFirst())
        var forged = request
        forged.body = JSONValue.object(members).encodedBytes()
        return forged
    }
}
