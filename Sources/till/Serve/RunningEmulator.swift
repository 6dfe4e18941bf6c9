import TillBilling
import TillEmulator
import TillHTTP
import TillSQLite

/// An emulated App Store with its file and its socket.
final class RunningEmulator: Sendable {
    let emulator: Emulator
    private let store: SQLiteDatabase
    private let listener: Listener
    private let fetch: Fetch

    var port: UInt16 { listener.port }

    /// - Parameters:
    ///   - directory: the directory of the store's file; it must exist.
    ///   - port: 0 takes any free one.
    /// - Throws: `CommandError` with the reason.
    init(
        _ configuration: EmulatorConfiguration, directory: String, port: UInt16, process: ProcessEffects
    ) async throws {
        do {
            store = try Emulator.openDatabase(path: "\(directory)/store.db")
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the emulated store in \(shown(directory)): \(error.detail)",
                    zh: "\(shown(directory)) 中的模拟商店：\(error.detail)"))
        }
        let fetch: Fetch
        do {
            var answers = FetchConfiguration()
            // A server should answer at once; a slow one must not delay the next notifications for long.
            answers.totalTimeout = 10_000
            answers.responseLimit = 1 << 20
            fetch = try Fetch(configuration: answers)
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        self.fetch = fetch
        emulator = try await Emulator(
            configuration: configuration, database: store, clock: process.clock, entropy: process.entropy,
            send: fetch.send, pause: { try? await Task.sleep(for: .milliseconds($0)) })
        var settings = ListenerConfiguration()
        settings.port = port
        // On this machine only, for developers: there is no proxy that could parse a request differently.
        settings.takesUnknownLibrary = true
        // A call that advances the clock by years waits for everything on the way.
        settings.handlerDeadline = 3_600_000
        do {
            listener = try Listener(
                configuration: settings, bodyLimit: emulator.router.bodyLimit(method:path:),
                handler: emulator.respond(to:))
        } catch {
            throw error.failure(address: "127.0.0.1:\(port)")
        }
    }

    /// Performs the store's due changes and sends notifications until the task is cancelled.
    func runJobs() async {
        await withTaskGroup(of: Void.self) { jobs in
            jobs.addTask { await self.emulator.run() }
            while !Task.isCancelled {
                emulator.wake()
                try? await Task.sleep(for: .milliseconds(500))
            }
            jobs.cancelAll()
        }
    }

    /// A running clock advance ends at the moment it has reached, and its caller gets a refusal. Undelivered
    /// notifications are sent after the next start.
    func stop() async {
        emulator.stop()
        emulator.endFaults()
        fetch.stop()
        await listener.stop(grace: 10)
        await store.close()
    }
}
