import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

/// The clock of the emulated store in `apple.emulator`. A server beside the store follows it, so that it sees expiries
/// and its bearer tokens stay valid after the store's clock was advanced.
///
/// It is read from the store's control API, never from a header of a request or a response, and only a configuration
/// with `apple.emulator`, which excludes production, has one. A store that doesn't answer delays one request by
/// `patience` at most; the others use the last reading until the store answers again.
final class EmulatorClock: Sendable {
    private struct Reading {
        let shown: Instant
        /// By the machine's clock: when the store was asked, and when it showed the time.
        let askedAt: Instant
        let readAt: Instant
        let isStopped: Bool
        /// A clock advance is running; the next reading may be days later.
        let isMoving: Bool
    }

    private struct State {
        var reading: Reading?
        var latest = Instant(milliseconds: .min)
        var isAnswering = true
        var isAsking = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private enum Role { case knows, waits, asks }

    /// Milliseconds for which a reading is used without asking again.
    static let memory: Int64 = 20
    /// Milliseconds after which the store's answer is no longer awaited.
    static let patience = 250
    /// Milliseconds between two readings without a request.
    static let interval: Int64 = 1_000
    /// Two readings differ by milliseconds. A step back by more than this is another store, and is followed.
    private static let jitter: Int64 = 60_000

    private let url: String
    private let send: HTTPSend
    private let machine: @Sendable () -> Instant
    private let state = Locked(State())

    /// - Parameters:
    ///   - origin: `http://127.0.0.1:8789`.
    ///   - send: gives up after `patience`.
    ///   - machine: the clock of this machine.
    init(origin: String, send: @escaping HTTPSend, machine: @escaping @Sendable () -> Instant) {
        url = origin + "/emulator/clock"
        self.send = send
        self.machine = machine
    }

    /// The store's time by the last reading; the machine's until the store has answered once.
    var now: Instant {
        let given = machine()
        return state.withLock { state in
            guard let reading = state.reading else { return given }
            let since = given.milliseconds - reading.readAt.milliseconds
            let shown = reading.isStopped ? reading.shown : reading.shown.adding(milliseconds: max(0, since))
            let behind = state.latest.milliseconds.subtractingReportingOverflow(shown.milliseconds)
            if !behind.overflow, (1...Self.jitter).contains(behind.partialValue) { return state.latest }
            state.latest = shown
            return shown
        }
    }

    // MARK: Reading

    /// Before a request is answered: reads the clock unless that was just done. It doesn't wait for a store that did
    /// not answer the last time.
    func refresh() async {
        let arrived = machine()
        // A reading that is under way may have begun too early; the second one did not.
        for _ in 0..<2 {
            let role = state.withLock { state -> Role in
                let oldest = arrived.adding(milliseconds: state.reading?.isMoving == true ? 0 : -Self.memory)
                if !state.isAnswering || state.reading.map({ $0.askedAt >= oldest }) == true { return .knows }
                return Self.role(&state)
            }
            switch role {
            case .knows: return
            case .waits: await waitForReading()
            case .asks: return _ = await ask()
            }
        }
    }

    /// Reads the clock in any case.
    /// - Returns: why the store's time is unknown, if that is news since the last reading.
    @discardableResult
    func read() async -> LocalizedText? {
        switch state.withLock({ Self.role(&$0) }) {
        case .knows: return nil
        case .waits:
            await waitForReading()
            return nil
        case .asks: return await ask()
        }
    }

    private static func role(_ state: inout State) -> Role {
        if state.isAsking { return .waits }
        state.isAsking = true
        return .asks
    }

    private func ask() async -> LocalizedText? {
        let askedAt = machine()
        let (reading, fault) = await answer(askedAt: askedAt)
        let (waiters, isNews) = state.withLock { state in
            let isNews = fault != nil && state.isAnswering
            if let reading { state.reading = reading }
            if reading != nil || fault != nil { state.isAnswering = fault == nil }
            state.isAsking = false
            defer { state.waiters = [] }
            return (state.waiters, isNews)
        }
        for waiter in waiters { waiter.resume() }
        return isNews ? fault : nil
    }

    /// The store's answer; neither a reading nor a fault if this process is stopping.
    private func answer(askedAt: Instant) async -> (Reading?, fault: LocalizedText?) {
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await send(url, HTTPRequest(method: .get, path: "/emulator/clock"))
        } catch {
            return (nil, error.kind == .stopped ? nil : fault(error.detail))
        }
        guard response.status == 200 else { return (nil, fault("\(response.status)")) }
        let members: JSONValue
        do throws(JSONError) {
            members = try JSONValue(decoding: response.body)
        } catch {
            return (nil, fault("JSON: \(error.rawValue)"))
        }
        guard let shown = members["now"]?.string.flatMap({ Instant(rfc3339: $0) }) else {
            return (nil, fault("\"now\" is missing"))
        }
        let (stopped, moving) = (members["stopped"]?.bool ?? false, members["moving"]?.bool ?? false)
        // In the middle between request and response.
        let half = max(0, machine().milliseconds - askedAt.milliseconds) / 2
        return (
            Reading(
                shown: shown, askedAt: askedAt, readAt: askedAt.adding(milliseconds: half),
                isStopped: stopped || moving, isMoving: moving), nil
        )
    }

    private func fault(_ detail: String) -> LocalizedText {
        LocalizedText(
            en: "the clock of the emulated store can't be read (\(url): \(shown(detail))); until it can, this server "
                + "counts on from the last time that it knows",
            zh: "无法读取模拟商店的时钟（\(url)：\(shown(detail))）；在此之前，本服务器从最后已知的时间继续计时")
    }

    private func waitForReading() async {
        await withCheckedContinuation { continuation in
            let isAsking = state.withLock { state in
                // The reading may have ended since.
                if state.isAsking { state.waiters.append(continuation) }
                return state.isAsking
            }
            if !isAsking { continuation.resume() }
        }
    }

    // MARK: Requests to the store

    /// A request whose token was signed just before the store's clock was advanced gets 401. It becomes an outage,
    /// which callers repeat, with a token of the new time.
    func following(_ exchange: @escaping AppleSend) -> AppleSend {
        { (request) async throws(AppleConnectionError) -> AppleResponse in
            let before = self.now
            let response = try await exchange(request)
            guard response.status == 401 else { return response }
            await self.read()
            let moved = self.now.milliseconds - before.milliseconds
            guard abs(moved) > Self.jitter else { return response }
            throw AppleConnectionError(
                .connectionLost, "the emulated store's clock moved by \(moved / 1_000) seconds during the request")
        }
    }
}

/// The emulated store's clock with its own HTTP client.
struct FollowedClock: Sendable {
    let clock: EmulatorClock
    private let fetch: Fetch

    /// Nil without `apple.emulator`: the machine's clock is the only one.
    ///
    /// - Throws: `CommandError` if no HTTP client can be started.
    init?(_ configuration: Configuration, process: ProcessEffects) throws {
        guard let origin = configuration.appleService.hosts.emulator else { return nil }
        var settings = FetchConfiguration()
        settings.totalTimeout = EmulatorClock.patience
        settings.connectTimeout = EmulatorClock.patience
        settings.responseLimit = 1 << 16
        do {
            fetch = try Fetch(configuration: settings)
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        clock = EmulatorClock(origin: origin, send: fetch.send, machine: process.clock)
    }

    func stop() { fetch.stop() }
}
