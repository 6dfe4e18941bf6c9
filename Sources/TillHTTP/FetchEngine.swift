import CTillCurl
import TillThreads

/// libcurl's multi handle and the only thread that may use it. Other threads put requests into the inbox and wake it.
final class FetchEngine: @unchecked Sendable {
    private struct Inbox {
        var arriving: [Transfer] = []
        var cancelled: [Transfer] = []
        var isStopped = false
        /// The multi handle is freed and must not be woken any more.
        var isOver = false
    }

    private let configuration: FetchConfiguration
    private let multi: UnsafeMutableRawPointer
    private let inbox = Locked(Inbox())

    // Accessed only by the engine's thread.
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    private var spare: [UnsafeMutableRawPointer] = []
    private static let spareLimit = 32

    /// libcurl requires one set-up in a process, before its first use.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK

    init(configuration: FetchConfiguration) throws(HTTPError) {
        guard Self.isReady, let multi = curl_multi_init() else { throw HTTPError(CURLE_FAILED_INIT) }
        self.configuration = configuration
        self.multi = multi
        let connections = max(1, configuration.connectionLimit)
        _ = till_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        _ = till_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
        guard SystemThread.detached({ [self] in run() }) else {
            curl_multi_cleanup(multi)
            throw HTTPError(CURLE_FAILED_INIT)
        }
    }

    func submit(_ transfer: Transfer, _ continuation: Transfer.Continuation) {
        transfer.wait(continuation)
        let isTaken = inbox.withLock { inbox in
            if inbox.isStopped || transfer.isCancelled { return false }
            inbox.arriving.append(transfer)
            curl_multi_wakeup(multi)
            return true
        }
        if !isTaken { transfer.resume(.failure(Self.stopped)) }
    }

    func cancel(_ transfer: Transfer) {
        inbox.withLock { inbox in
            transfer.isCancelled = true
            guard !inbox.isOver else { return }
            inbox.cancelled.append(transfer)
            curl_multi_wakeup(multi)
        }
    }

    func stop() {
        inbox.withLock { inbox in
            inbox.isStopped = true
            if !inbox.isOver { curl_multi_wakeup(multi) }
        }
    }

    private static let stopped = HTTPError(.stopped, "the transfer was cancelled, or the client stopped")

    // MARK: The thread

    private func run() {
        while true {
            let requests = inbox.withLock { inbox in
                defer { (inbox.arriving, inbox.cancelled) = ([], []) }
                return inbox
            }
            for transfer in requests.arriving { start(transfer) }
            for transfer in requests.cancelled { abort(transfer) }
            if requests.isStopped { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            collect()
            // Requests and sockets wake the thread; the time-out of a second is a safeguard.
            curl_multi_poll(multi, nil, 0, 1_000, nil)
        }
        for transfer in Array(active.values) { abort(transfer) }
        // After `isStopped` no transfer arrives, and after `isOver` no thread wakes the handle.
        inbox.withLock { $0.isOver = true }
        for easy in spare { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    private func start(_ transfer: Transfer) {
        guard let easy = spare.popLast() ?? curl_easy_init() else {
            transfer.resume(.failure(HTTPError(CURLE_OUT_OF_MEMORY)))
            return
        }
        do throws(HTTPError) {
            try transfer.prepare(easy, configuration)
        } catch {
            release(easy, transfer)
            transfer.resume(.failure(error))
            return
        }
        active[easy] = transfer
        if curl_multi_add_handle(multi, easy) != CURLM_OK {
            active[easy] = nil
            release(easy, transfer)
            transfer.resume(.failure(HTTPError(CURLE_FAILED_INIT)))
        }
    }

    private func abort(_ transfer: Transfer) {
        guard let easy = transfer.easy, active[easy] === transfer else { return }
        active[easy] = nil
        curl_multi_remove_handle(multi, easy)
        release(easy, transfer)
        transfer.resume(.failure(Self.stopped))
    }

    /// Completes the finished transfers.
    private func collect() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            // The message becomes invalid when the handle is removed.
            let code = till_curl_result(message)
            curl_multi_remove_handle(multi, easy)
            guard let transfer = active.removeValue(forKey: easy) else { continue }
            let outcome = transfer.outcome(code)
            release(easy, transfer)
            transfer.resume(outcome)
        }
    }

    private func release(_ easy: UnsafeMutableRawPointer, _ transfer: Transfer) {
        transfer.release()
        if spare.count < Self.spareLimit {
            curl_easy_reset(easy)
            spare.append(easy)
        } else {
            curl_easy_cleanup(easy)
        }
    }
}
