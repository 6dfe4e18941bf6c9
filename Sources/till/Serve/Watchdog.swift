import TillThreads

/// Signs of life for the service manager, which restarts a server that gives none (`WatchdogSec` of a unit).
///
/// A sign needs a thread that runs tasks, and the locks that every request takes. It is no request over the network:
/// an attack that fills all connections must not end the server. A full disk is none of its reasons either, because a
/// restart cures it no better; `/readyz` and the alerts tell of that.
struct Watchdog: Sendable {
    private let task: Task<Void, Never>?

    /// - Parameter takeLocks: takes the locks, and returns.
    init(_ notifications: ServiceNotifications, takeLocks: @escaping @Sendable () -> Void) {
        // systemd recommends half of the time; a third leaves room for a busy machine.
        task = notifications.watchdogTime.map { time in
            Task {
                while !Task.isCancelled {
                    takeLocks()
                    notifications.alive()
                    try? await Task.sleep(for: time / 3)
                }
            }
        }
    }

    func end() { task?.cancel() }
}
