import TillHTTP

/// Between who asks and who answers.
extension Chaos {
    /// Answers a request by `answer`, unless it is disturbed. What no dial names is never disturbed: the control API,
    /// without which nobody could turn the dials back.
    func respond(
        to request: HTTPRequest, by answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async -> HTTPResponse {
        guard isOn, let endpoint = DisturbedEndpoint(request), let fate = draw(endpoint) else {
            return await answer(request)
        }
        let clock = SkewedClock { self.skew(of: endpoint) }
        return await SkewedClock.$current.withValue(clock) {
            await inTurn(fate) { await self.suffer(fate, request, answer) }
        }
    }

    /// Lets the next request go first, if so the dials say. A request for which another one waits never waits itself.
    private func inTurn(_ fate: Fate, _ proceed: @Sendable () async -> HTTPResponse) async -> HTTPResponse {
        if let waiting = takeHeld(at: fate.endpoint) {
            defer { room.letGo(waiting) }
            return await proceed()
        }
        if fate.strikes(.reorder), room.canWait, let place = placeToHold(at: fate.endpoint) {
            count(.reorder, at: fate.endpoint)
            await room.wait(fate.dials.patience, in: place)
            leave(place, at: fate.endpoint)
        }
        return await proceed()
    }

    private func suffer(
        _ fate: Fate, _ request: HTTPRequest, _ answer: @Sendable (HTTPRequest) async -> HTTPResponse
    ) async -> HTTPResponse {
        await delay(fate)
        if fate.strikes(.dropBefore) {
            count(.dropBefore, at: fate.endpoint)
            return .hangUp
        }
        if let broken = brokenAnswer(fate, request) { return broken }
        if fate.strikes(.duplicate) {
            count(.duplicate, at: fate.endpoint)
            _ = await answer(request)
        }
        let response = await answer(request)
        guard fate.strikes(.dropAfter) else { return response }
        count(.dropAfter, at: fate.endpoint)
        return .hangUp
    }

    /// Takes its time, if so the dials say.
    func delay(_ fate: Fate) async {
        guard room.canWait, fate.strikes(.delay) else { return }
        count(.delay, at: fate.endpoint)
        await room.wait(fate.dice.number("milliseconds", in: fate.dials.delay))
    }

    /// What comes back in place of the answer, if anything. One fault decides it.
    func brokenAnswer(_ fate: Fate, _ request: HTTPRequest) -> HTTPResponse? {
        let now = clock.now.adding(milliseconds: fate.dials.skew)
        let broken = BrokenAnswer(endpoint: fate.endpoint, request: request, dice: fate.dice, now: now)
        for dial in [Dial.rateLimit, .error5xx, .html, .internalStatus] where fate.strikes(dial) {
            guard let response = broken.response(for: dial) else { continue }
            count(dial, at: fate.endpoint)
            return response
        }
        return nil
    }
}
