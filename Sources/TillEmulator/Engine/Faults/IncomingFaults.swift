import TillBilling
import TillHTTP
import TillJSON

/// Faults between a caller and the emulator.
extension FaultInjector {
    /// Answers a request with `answer`, or with a fault. Requests without a fault endpoint are never affected: the
    /// control API must stay usable to turn faults off.
    func respond(
        to request: HTTPRequest, by answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async -> HTTPResponse {
        guard isOn, let endpoint = FaultEndpoint(request), let faults = draw(endpoint) else {
            return await answer(request)
        }
        let clock = SkewedClock { self.skew(of: endpoint) }
        return await SkewedClock.$current.withValue(clock) {
            await reordering(faults) { await self.applyFaults(faults, request, answer) }
        }
    }

    /// Lets the next request go first if the fault `reorder` occurs. A request that another one waits for never waits
    /// itself.
    private func reordering(_ faults: RequestFaults, _ proceed: @Sendable () async -> HTTPResponse) async
        -> HTTPResponse
    {
        if let waiting = takeHeld(at: faults.endpoint) {
            defer { delayedRequests.release(waiting) }
            return await proceed()
        }
        if faults.includes(.reorder), delayedRequests.canWait, let ticket = placeToHold(at: faults.endpoint) {
            count(.reorder, at: faults.endpoint)
            await delayedRequests.wait(faults.rates.reorderWindow, in: ticket)
            leave(ticket, at: faults.endpoint)
        }
        return await proceed()
    }

    private func applyFaults(
        _ faults: RequestFaults, _ request: HTTPRequest, _ answer: @Sendable (HTTPRequest) async -> HTTPResponse
    ) async -> HTTPResponse {
        await delay(faults)
        if faults.includes(.dropBefore) {
            count(.dropBefore, at: faults.endpoint)
            return .hangUp
        }
        if let broken = faultResponse(faults, request) { return broken }
        if faults.includes(.duplicate) {
            count(.duplicate, at: faults.endpoint)
            _ = await answer(request)
        }
        let response = await answer(request)
        guard faults.includes(.dropAfter) else { return response }
        count(.dropAfter, at: faults.endpoint)
        return .hangUp
    }

    /// Delays the request if the fault `delay` occurs.
    func delay(_ faults: RequestFaults) async {
        guard delayedRequests.canWait, faults.includes(.delay) else { return }
        count(.delay, at: faults.endpoint)
        await delayedRequests.wait(faults.random.number("milliseconds", in: faults.rates.delay))
    }

    /// The fault that replaces the answer, if any. The first kind that occurs is used.
    func faultResponse(_ faults: RequestFaults, _ request: HTTPRequest) -> HTTPResponse? {
        let now = clock.now.adding(milliseconds: faults.rates.skew)
        let broken = FaultResponse(endpoint: faults.endpoint, request: request, random: faults.random, now: now)
        for fault in [StoreFault.rateLimit, .error5xx, .html, .internalStatus] where faults.includes(fault) {
            guard let response = broken.response(for: fault) else { continue }
            count(fault, at: faults.endpoint)
            return response
        }
        return nil
    }
}

/// Answers of a failing service, in the form of the requested endpoint.
struct FaultResponse {
    let endpoint: FaultEndpoint
    let request: HTTPRequest
    let random: SeededRandom
    /// The time by the answering machine's clock.
    let now: Instant

    /// The answer of a fault; nil for a fault that has no answer of its own, or none at this endpoint.
    func response(for fault: StoreFault) -> HTTPResponse? {
        switch fault {
        case .rateLimit: rateLimited
        case .error5xx: serverError
        case .html: page
        case .internalStatus: endpoint == .verifyReceipt ? internalStatus : nil
        case .dropBefore, .dropAfter, .delay, .duplicate, .reorder, .lostApplicationUsername, .forgery: nil
        }
    }

    // MARK: 429

    private var rateLimited: HTTPResponse {
        let seconds = random.number("retryAfter", in: 1...30)
        switch endpoint {
        case .verifyReceipt, .purchases, .notifications:
            var response = problem(
                429, code: "rate_limited", "Too many requests. Try again later.", "请求过多，请稍后再试。")
            response.headers.set("Retry-After", String(seconds))
            return response
        default:
            var response = refusal(429, 4_290_000, "Rate limit exceeded.")
            // A Unix time in milliseconds, not a number of seconds (facts/server-api §7).
            response.headers.set("Retry-After", String(now.adding(seconds: seconds).milliseconds))
            return response
        }
    }

    // MARK: 5xx

    private var serverError: HTTPResponse {
        switch endpoint {
        case .verifyReceipt, .notifications:
            // Without a body: a load balancer in front of Apple's service answers.
            return HTTPResponse(status: random.choice("error", of: [500, 503]) ?? 500)
        case .purchases:
            return problem(
                random.choice("error", of: [500, 503]) ?? 500, code: "store_unavailable",
                "The App Store is unavailable, as configured with PUT /emulator/faults. Try again.",
                "App Store 出现故障（由 PUT /emulator/faults 设定），请重试。")
        default:
            // The messages of facts/server-api §6.
            let answers = [
                refusal(500, 5_000_000, "An unknown error occurred."),
                refusal(500, 5_000_001, "An unknown error occurred. Please try again."),
                HTTPResponse(status: 503),
            ]
            return random.choice("error", of: answers) ?? HTTPResponse(status: 503)
        }
    }

    /// Always a status that asks for another attempt: with `is-retryable` 0 it would be a final verdict
    /// (facts/verify-receipt §3).
    private var internalStatus: HTTPResponse {
        let statuses: [Int64] = [21005, 21009, random.number("internal", in: 21100...21199)]
        let status = random.choice("status", of: statuses) ?? 21005
        return VerifyReceiptEndpoint.internalFault(status, retryable: true)
    }

    // MARK: Pages

    /// The page of a captive portal, or of a proxy without a working backend. For a notification only the latter: any
    /// 200 tells Apple that it arrived, and Apple would not send it again.
    private var page: HTTPResponse {
        let statuses = endpoint == .notifications ? [502] : [200, 502]
        let status = random.choice("page", of: statuses) ?? 502
        let title = status == 200 ? "Welcome" : "502 Bad Gateway"
        let body = """
            <!DOCTYPE html>
            <html><head><title>\(title)</title></head><body><h1>\(title)</h1></body></html>

            """
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        response.headers.add("Content-Type", "text/html; charset=UTF-8")
        return response
    }

    // MARK: Error formats

    /// Apple's (facts/server-api §6).
    private func refusal(_ status: Int, _ code: Int64, _ message: String) -> HTTPResponse {
        .json(["errorCode": .int(code), "errorMessage": .string(message)], status: status)
    }

    /// The control API's.
    private func problem(_ status: Int, code: String, _ english: String, _ chinese: String) -> HTTPResponse {
        ControlError(status: status, code: code, english: english, chinese: chinese, isRetryable: true)
            .response(to: request)
    }
}
