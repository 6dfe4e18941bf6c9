import Testing
import TillThreads

@testable import TillHTTP

/// Runs each job on its own thread. Raw sockets block, and a test that blocked one of the shared threads would stop the
/// handler it waits for.
final class OwnThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isStarted = SystemThread.detached { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        if !isStarted { fatalError("no thread for a test") }
    }
}

/// Runs a test's body on a thread that may block.
func blocking<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(OwnThread()) { try await body() }
}

/// A listener that is stopped at the end of the test.
func withListener<Result>(
    _ configuration: ListenerConfiguration = ListenerConfiguration(),
    bodyLimit: Int = 1 << 20,
    handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = echo,
    _ body: (Listener) async throws -> Result
) async throws -> Result {
    let listener = try Listener(configuration: configuration, bodyLimit: { _, _ in bodyLimit }, handler: handler)
    do {
        let result = try await blocking { try await body(listener) }
        await listener.stop(grace: 2)
        return result
    } catch {
        await listener.stop(grace: 0)
        throw error
    }
}

/// Answers with the request itself: method, path, query and body.
@Sendable func echo(_ request: HTTPRequest) async -> HTTPResponse {
    var response = HTTPResponse(status: 200, body: request.body)
    response.headers.add("X-Method", request.method.rawValue)
    response.headers.add("X-Path", request.path)
    response.headers.add("X-Query", request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))
    response.headers.add("X-Peer", request.peer)
    response.headers.add("X-Client", request.client)
    return response
}

/// The same, on another thread and a little later, while the connection sleeps.
@Sendable func echoElsewhere(_ request: HTTPRequest) async -> HTTPResponse {
    try? await Task.sleep(nanoseconds: 100_000)
    return await echo(request)
}

/// Runs `body` once on each of the given number of threads and waits for them all.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for index in 0..<count {
            group.addTask(executorPreference: OwnThread()) { body(index) }
        }
    }
}

/// Holds every task that passes until it is opened.
final class Gate: Sendable {
    private let state = Locked((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
