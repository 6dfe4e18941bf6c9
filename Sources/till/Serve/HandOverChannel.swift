import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What two servers tell each other during a hand-over: one line each.
enum HandOverMessage: Sendable, Hashable {
    /// The successor has read its configuration and checked the ledger.
    case ready
    /// The predecessor has closed the ledger.
    case go
    /// The successor accepts connections.
    case serving
    /// The successor can't serve, with the reason in English.
    case failed(String)

    var line: String {
        switch self {
        case .ready: "ready"
        case .go: "go"
        case .serving: "serving"
        case .failed(let reason): "failed " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    init?(_ line: Substring) {
        switch line {
        case "ready": self = .ready
        case "go": self = .go
        case "serving": self = .serving
        default:
            guard line.hasPrefix("failed ") else { return nil }
            self = .failed(String(line.dropFirst("failed ".count)))
        }
    }
}

/// One end of the connection between two servers. A thread reads it, because waiting on one of Swift's few threads
/// could block all tasks.
final class HandOverChannel: Sendable {
    /// How a wait for a message ended.
    enum Received: Sendable, Hashable {
        case message(HandOverMessage)
        /// The other process is gone.
        case closed
        case timedOut
    }

    private struct State {
        var messages: [HandOverMessage] = []
        var isClosed = false
    }

    private let descriptor: Int32
    private let state = Locked(State())

    /// Takes over the descriptor.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // The thread ends with the connection, or with the process.
        let isStarted = SystemThread.detached { [self] in read() }
        if !isStarted { state.withLock { $0.isClosed = true } }
    }

    /// A connected pair: one end for this process, and the descriptor of the other one.
    static func pair() -> (own: HandOverChannel, other: Int32)? {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
        return (HandOverChannel(ends[0]), ends[1])
    }

    /// A process that is gone does not receive it.
    func send(_ message: HandOverMessage) {
        let bytes = Array((message.line + "\n").utf8)
        state.withLock { state in
            // A closed descriptor's number may belong to another file by now.
            if !state.isClosed { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
        }
    }

    /// Waits for the next message.
    ///
    /// - Parameter isOver: ends the wait early, as if the time were over.
    func next(within limit: Duration, unless isOver: @Sendable () -> Bool = { false }) async -> Received {
        let end = ContinuousClock.now + limit
        while true {
            let received = state.withLock { state -> Received? in
                if !state.messages.isEmpty { return .message(state.messages.removeFirst()) }
                return state.isClosed ? .closed : nil
            }
            if let received { return received }
            guard ContinuousClock.now < end, !isOver() else { return .timedOut }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    private func read() {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                if let message = HandOverMessage(line[...]) { state.withLock { $0.messages.append(message) } }
            }
        }
        state.withLock { state in
            close(descriptor)
            state.isClosed = true
        }
    }
}
