import TillBilling
import TillHTTP

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The descriptors that this process was started with, from 3 on: systemd's protocol of socket activation
/// (sd_listen_fds(3)), which the hand-over between two servers uses too.
struct InheritedSockets: Sendable {
    /// Nil: the server binds the configured address itself.
    let listening: ListeningSocket?
    /// The connection to the server that hands over to this one.
    let predecessor: HandOverChannel?

    /// The variable by which a server tells its successor that the descriptors are meant for it. Its own process id,
    /// because it cannot know the successor's before that one runs.
    static let predecessorVariable = "LISTEN_SUCCESSOR_OF"
    private static let firstDescriptor: Int32 = 3

    /// - Parameters:
    ///   - processID: this process; `LISTEN_PID` must name it, or the descriptors are another program's.
    ///   - first: the first descriptor, for tests.
    /// - Throws: `CommandError` if the descriptors are meant for this process and can't be used.
    init(
        _ environment: [String: String], processID: Int32 = getpid(), parentID: Int32 = getppid(),
        first: Int32 = firstDescriptor
    ) throws {
        func number(_ name: String) -> Int32? { environment[name].flatMap { Int32($0) } }
        let isSuccessor = number(Self.predecessorVariable) == parentID
        guard isSuccessor || number("LISTEN_PID") == processID, let text = environment["LISTEN_FDS"], text != "0" else {
            (listening, predecessor) = (nil, nil)
            return
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false)
        guard let count = Int(text), count > 0, (names ?? Array(repeating: "", count: count)).count == count else {
            throw CommandError(
                LocalizedText(
                    en: "LISTEN_FDS is \"\(shown(text))\" and does not match LISTEN_FDNAMES",
                    zh: "LISTEN_FDS 为“\(shown(text))”，与 LISTEN_FDNAMES 不符"))
        }
        guard count == (isSuccessor ? 2 : 1) else {
            throw CommandError(
                LocalizedText(
                    en: "the service manager passes \(count) sockets, and Till listens on one; keep one ListenStream",
                    zh: "服务管理器传入了 \(count) 个套接字，而 Till 只监听一个；请只保留一个 ListenStream"))
        }
        let isHeldElsewhere = !isSuccessor || names?.first.map(String.init) == Self.activated
        do throws(ListenerError) {
            listening = try ListeningSocket(inheriting: first, isHeldElsewhere: isHeldElsewhere)
        } catch {
            throw error.failure(address: "LISTEN_FDS")
        }
        predecessor = isSuccessor ? HandOverChannel(first + 1) : nil
    }

    /// The names of the descriptors that a successor gets. The first tells where the listening socket came from.
    static func names(for socket: ListeningSocket) -> String {
        (socket.isHeldElsewhere ? activated : "bound") + ":handover"
    }

    private static let activated = "activated"
}
