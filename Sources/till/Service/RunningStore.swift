import TillBilling
import TillEmulator
import TillHTTP
import TillSQLite
import TillStorage

/// The emulated App Store as a service of this process.
struct RunningStore: Sendable {
    let emulator: Emulator
    /// With the port that was really taken.
    let address: ListenAddress
    private let database: SQLiteDatabase
    private let listener: Listener
    private let fetch: Fetch

    /// Opens the store's file, or founds a new store in it, and begins to serve.
    ///
    /// - Throws: `CommandFailure` with what is in the way.
    static func start(
        _ configuration: EmulatorConfiguration, file path: String, listen: ListenAddress, process: ProcessEffects
    ) async throws -> RunningStore {
        let database: SQLiteDatabase
        do throws(DatabaseFault) {
            database = try Emulator.openDatabase(path: path)
        } catch {
            throw error.failure(opening: path)
        }
        do {
            let fetch = try Fetch()
            let emulator = try await Emulator(
                configuration: configuration, database: database, clock: process.clock, entropy: process.entropy,
                send: fetch.send)
            var listening = ListenerConfiguration()
            listening.address = listen.host
            listening.port = listen.port
            let listener = try Listener(
                configuration: listening, bodyLimit: emulator.router.bodyLimit(method:path:),
                handler: emulator.respond(to:))
            let address = ListenAddress(host: listen.host, port: listener.port)
            return RunningStore(
                emulator: emulator, address: address, database: database, listener: listener, fetch: fetch)
        } catch {
            await database.close()
            throw (error as? ListenerFault)?.failure(at: listen) ?? (error as? DatabaseFault)?.failure(opening: path)
                ?? error
        }
    }

    var url: String { "http://\(address)" }

    /// Sends notifications, until its task is cancelled.
    func work() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await emulator.run() }
            group.addTask {
                while !Task.isCancelled {
                    emulator.wake()
                    try? await Task.sleep(for: .milliseconds(500))
                }
            }
        }
    }

    func stop() async {
        await listener.stop(grace: 5)
        fetch.stop()
        await database.close()
    }
}
