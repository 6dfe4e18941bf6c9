import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One server takes over from another without a failed request (docs/decisions/0070). Connections wait in the shared
/// socket while the ledger changes hands: only one process may have a file open, and a shared ledger's jobs change
/// hands with it.
extension ServeRun {
    /// How long a new program may take to read its configuration, and then to open the ledger.
    private static let startLimit = Duration.seconds(60)

    /// Starts the program that is now in this program's file, and hands the socket and the ledger over to it.
    ///
    /// - Returns: nil if the other one serves now; otherwise the server that goes on.
    /// - Throws: `CommandError` if neither can serve, because the new program changed the ledger and then failed.
    func handOver(_ running: RunningServer) async throws -> RunningServer? {
        log.write(.handoverBegins, ["program": .text(call.process.start.path)])
        notifications.reloading("handing over to a new program")
        let socket = try running.listener.duplicateSocket()
        defer { socket.close() }
        let successor: Successor
        do {
            successor = try Successor.start(
                call.process.start, environment: call.process.environment, socket: socket)
        } catch {
            refuse((error as? CommandError)?.reasons.first?.en ?? "\(error)")
            return running
        }
        let first = await successor.channel.next(within: Self.startLimit, unless: { requests.isStopping })
        guard first == .message(.ready) else {
            refuse(await reason(first, of: successor))
            return running
        }
        let drained = await running.stop(.handOver)
        successor.channel.send(.go)
        let second = await successor.channel.next(within: Self.startLimit)
        guard second == .message(.serving) else {
            let reason = await reason(second, of: successor)
            // The ledger is closed: a server of this program opens it again, on the same socket.
            let again = try await start(running.configuration, on: socket)
            refuse(reason)
            again.startJobs()
            return again
        }
        notifications.handedOver(to: successor.id)
        // What was asked of this process meanwhile is the other one's to do.
        if requests.isReloadDue { successor.reload() }
        if requests.isStopping { successor.stop() }
        log.write(
            .handoverEnded,
            ["pid": .integer(successor.id), "ms": .integer(drained.milliseconds), "cut": .integer(drained.cutRequests)])
        return nil
    }

    private func reason(_ received: HandOverChannel.Received, of successor: Successor) async -> String {
        if received == .timedOut { successor.stop() }
        let ending = await successor.end()
        switch received {
        case .message(.failed(let reason)): return "the new program can't serve: \(reason)"
        case .timedOut where requests.isStopping: return "the server was stopped meanwhile"
        case .timedOut: return "the new program took too long"
        case .message, .closed: return "the new program does not serve: \(ending)"
        }
    }

    /// Says why the hand-over failed. The server goes on.
    private func refuse(_ reason: String) {
        log.write(.handoverFailed, ["reason": .text(reason)])
        notifications.ready()
    }
}

extension Configuration {
    /// The successor's part: checks what can be checked beside the server that has the ledger, says that it is ready,
    /// and waits until the ledger is free.
    ///
    /// - Throws: `CommandError` with the reason why this program can't serve.
    func takeOver(from predecessor: HandOverChannel) async throws {
        do {
            try database.check(.served)
        } catch {
            throw database.failure(error)
        }
        let parent = getppid()
        predecessor.send(.ready)
        switch await predecessor.next(within: .seconds(drain.seconds + 120)) {
        case .message(.go): return
        case .closed:
            // The predecessor died: the system frees its ledger before it gives its children another parent.
            for _ in 0..<500 where getppid() == parent { try? await Task.sleep(for: .milliseconds(10)) }
        case .message, .timedOut:
            throw CommandError(
                LocalizedText(en: "the server that hands over does not answer", zh: "交出服务的进程没有应答"))
        }
    }
}
