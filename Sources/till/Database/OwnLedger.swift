import TillBilling
import TillSQL
import TillServer

/// A ledger that this process opens itself, because no server holds it. Servers on PostgreSQL go on meanwhile.
struct OwnLedger {
    private let ledger: any Database
    private let server: Server
    private let followed: FollowedClock?
    private let apple: AppleClient?
    private let location: LedgerLocation
    private let language: Language

    /// Nil while a server holds the ledger's file.
    /// - Parameters:
    ///   - label: how the database's server names the connection.
    ///   - asksApple: whether the work asks Apple, if there is an In-App Purchase Key.
    init?(
        _ configuration: Configuration, _ call: Invocation, for label: String, asksApple: Bool = false
    ) async throws {
        location = configuration.database
        language = call.language
        do throws(DatabaseError) {
            ledger = try location.labelled(label).open(as: .server, .ledger).database
        } catch {
            if error.kind == .inUse { return nil }
            throw location.failure(error)
        }
        let followed = try FollowedClock(configuration, process: call.process)
        self.followed = followed
        apple = asksApple ? try AppleClient(configuration, process: call.process, following: followed?.clock) : nil
        await followed?.clock.read()
        let machine = call.process.clock
        let store = followed?.clock
        do {
            server = try Server(
                configuration: configuration.server, database: ledger, clock: { store?.now ?? machine() },
                machineClock: machine, entropy: call.process.entropy, appleEffects: apple?.effects,
                serverAPI: apple?.api)
        } catch {
            throw CommandError(Refusal(rawValue: error.verdict.rawValue)?.sentence ?? LocalizedText(error.detail))
        }
    }

    /// Runs work on the ledger, and closes it in every case.
    func use<Value: Sendable>(_ work: (Server) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(server)
            await seal()
            await close()
            return value
        } catch {
            await close()
            throw location.explained(error, language)
        }
    }

    /// Half a minute: what other programs have not committed yet holds their row ids.
    private func seal() async {
        await server.sealEverything(looks: 75) { try? await Task.sleep(for: .milliseconds(400)) }
    }

    private func close() async {
        apple?.stop()
        followed?.stop()
        await ledger.close()
    }
}
