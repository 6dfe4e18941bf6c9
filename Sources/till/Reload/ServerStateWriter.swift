import TillBilling
import TillServer
import TillThreads

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps the file of a running server's state up to date. A file that can't be written stops nothing: the server's
/// answers don't depend on it.
final class ServerStateWriter: Sendable {
    private let base: String?
    private let uses: KeyUses
    private let complain: @Sendable (FileError) -> Void
    private let state: Locked<ServerState>

    /// Milliseconds between two looks at the keys' uses, and between two writes because of one key.
    private static let interval: Int64 = 60_000
    private static let precision: Int64 = 3_600_000

    /// Takes over when keys were last used from the file of the last run.
    ///
    /// - Parameter base: the ledger's path, or the configured one; nil: nothing is kept.
    init(base: String?, uses: KeyUses, complain: @escaping @Sendable (FileError) -> Void) {
        self.base = base
        self.uses = uses
        self.complain = complain
        let last = base.flatMap { ServerState.read(besideLedger: $0) }
        uses.restore(last?.uses ?? [:])
        var first = ServerState(process: getpid())
        first.keyUses = last?.keyUses ?? []
        state = Locked(first)
        write { _ in }
    }

    func write(_ report: ReloadReport) { write { $0.reload = report } }

    /// Writes the state with the present uses of the keys.
    func writeUses() { write { _ in } }

    private func write(_ change: (inout ServerState) -> Void) {
        guard let base else { return }
        let current = uses.all
        do throws(FileError) {
            // Under the lock, so that an older state never replaces a younger one.
            try state.withLock { state throws(FileError) in
                change(&state)
                state.uses = current
                try state.write(besideLedger: base)
            }
        } catch {
            complain(error)
        }
    }

    /// Whether a key was used an hour or more after what the file says.
    private var isBehind: Bool {
        let saved = state.withLock { $0.uses }
        return uses.all.contains { key, instant in
            guard let known = saved[key] else { return true }
            return instant.milliseconds - known.milliseconds >= Self.precision
        }
    }

    /// Saves the uses until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(Self.interval))
            if isBehind { writeUses() }
        }
    }
}
