import TillBilling
import TillSQL
import TillServer
import TillThreads

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Monitoring {
    /// What a real server measures itself with.
    static func real(_ configuration: Configuration) -> Monitoring {
        var monitoring = Monitoring(
            stopwatch: {
                var time = timespec()
                clock_gettime(CLOCK_MONOTONIC, &time)
                return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
            }, hosts: configuration.appleService.hosts)
        monitoring.version = BuildIdentity.current.name
        monitoring.within = within
        // A remote database's disk is unknown here; its own monitoring has the figure.
        if let file = configuration.database.file {
            monitoring.volume = { await space(of: file) }
            monitoring.lastBackup = { BackupNote(ofLedger: file)?.takenAt }
        }
        return monitoring
    }

    /// Told by the driver of every batch of writes.
    var commitWatch: CommitWatch {
        let commits = commits
        return CommitWatch(
            began: { commits.began() }, ended: { commits.ended(bodies: $0, error: $1) })
    }

    /// Runs work in a task of its own, so that it can be left behind.
    static func within(_ milliseconds: Int64, _ work: @escaping @Sendable () async -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            let isAnswered = Locked(false)
            let answer: @Sendable (Bool) -> Void = { hasEnded in
                let isFirst = isAnswered.withLock { answered in
                    defer { answered = true }
                    return !answered
                }
                if isFirst { continuation.resume(returning: hasEnded) }
            }
            let timer = Task {
                try? await Task.sleep(for: .milliseconds(milliseconds))
                answer(false)
            }
            Task {
                await work()
                answer(true)
                timer.cancel()
            }
        }
    }

    /// Asked on a thread of its own: a network file system without its server lets the caller wait.
    private static func space(of path: String) async -> VolumeSpace? {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return await withCheckedContinuation { continuation in
            let thread = SystemThread {
                var figures = statvfs()
                guard statvfs(directory, &figures) == 0 else { return continuation.resume(returning: nil) }
                let block = Int64(figures.f_frsize)
                continuation.resume(
                    returning: VolumeSpace(
                        free: Int64(figures.f_bavail) * block, size: Int64(figures.f_blocks) * block))
            }
            guard let thread else { return continuation.resume(returning: nil) }
            thread.detach()
        }
    }
}
