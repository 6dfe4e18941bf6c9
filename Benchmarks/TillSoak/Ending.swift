import Foundation
import TillAppStore
import TillBilling
import TillTestDatabases

/// The end of a soak: all programs run, no more faults occur, every app is opened once by each of its users, and the
/// store sends undelivered notifications again. Afterwards nothing may be pending.
struct SoakEnding: Sendable {
    let directory: SoakDirectory
    let ledger: LedgerPlace
    let server: SupervisedProgram
    let control: StoreControl
    let crowd: Crowd
    let tally: Tally
    let say: @Sendable (String) -> Void
    /// When the soak began.
    let began: Instant
    let support: Support

    /// - Returns: by transaction, the user to whom support assigned a purchase without a token.
    func run(_ world: StoreEvents, seed: UInt64) async throws -> [String: String] {
        var random = SeededRandom(seed: seed, player: "ending")
        try await world.complete(&random)
        say("every phone opens its app once more")
        await openAll()
        say("the store sends again what did not arrive")
        try await resend()
        try await becomeQuiet()
        let claims = try await support.claimAll()
        if !claims.isEmpty {
            say("support assigned purchases without a signed owner: \(claims.count)")
            await openAll()
            try await becomeQuiet()
        }
        try await reconcile()
        return claims
    }

    private func openAll() async {
        await withTaskGroup(of: Void.self) { group in
            var rest = Phone.all[...]
            for _ in 0..<4 { if let phone = rest.popFirst() { open(phone, &group) } }
            while await group.next() != nil {
                if let phone = rest.popFirst() { open(phone, &group) }
            }
        }
    }

    private func open(_ phone: Phone, _ group: inout TaskGroup<Void>) {
        group.addTask { [crowd] in await crowd.comeBack(to: phone, within: .seconds(40)) }
    }

    /// Apple retries for three days; here the retries happen at once.
    private func resend() async throws {
        for state in ["pending", "failed"] {
            // In order of their events.
            for notification in try await control.list("/emulator/notifications?state=\(state)").reversed() {
                guard let id = notification["id"]?.string else { continue }
                if (try? await control.post("/emulator/notifications/\(id)/resend")) != nil {
                    tally.add(.deeds, "notification sent again")
                }
            }
        }
    }

    // MARK: Reconciliation

    /// Whether this `till` supports reconciliation.
    static func canReconcile(_ directory: SoakDirectory) async throws -> Bool {
        let child = try Child(
            directory.till, ["reconcile", "--help"], log: directory.root.appendingPathComponent("reconcile-help.log"))
        return await child.end() == .exit(0)
    }

    /// Reconciles everything since the beginning, then once more: the second time must find no difference.
    private func reconcile() async throws {
        guard try await Self.canReconcile(directory) else {
            say("this till does not reconcile: notifications and buyers must do")
            return
        }
        say("till reconcile")
        try await reconcile([])
        say("till reconcile --dry-run")
        try await reconcile(["--dry-run"])
    }

    private func reconcile(_ more: [String]) async throws {
        let child = try Child(
            directory.till,
            [
                "reconcile", "--config", directory.configuration.path, "--key-file", directory.secretKey.path,
                "--since",
                began.rfc3339, "--json",
            ] + more, log: directory.server.appendingPathComponent("reconcile.log"))
        let ending = await child.end(within: .seconds(600))
        if ending == nil { child.kill() }
        tally.add(.deeds, (["reconcile"] + more).joined(separator: " "))
        guard ending == .exit(0) else {
            let outcome = ending?.description ?? "not within ten minutes"
            throw SoakError("till reconcile \(more.joined(separator: " ")): \(outcome): \(child.output.suffix(4_000))")
        }
    }

    // MARK: Pending work

    /// Waits until nothing is pending, or gives up; the audit then reports the rest.
    private func becomeQuiet() async throws {
        say("waiting until nothing waits")
        for _ in 0..<6 {
            for _ in 0..<20 {
                if try await isQuiet() { return }
                try await Task.sleep(for: .seconds(1))
            }
            try await resend()
        }
        say("it did not become quiet")
    }

    private func isQuiet() async throws -> Bool {
        let state = try await control.get("/emulator/state")
        guard state["notifications"]?["pending"]?.int == 0 else { return false }
        // Purchases without an owner stay in the queue, with their proof in quarantine.
        let quarantine = try await LedgerContents.quarantined(in: ledger)
        for account in Phone.accounts {
            let queue = try await control.list("/emulator/transactions?account=\(account)&unfinished=true")
            guard queue.allSatisfy({ quarantine.contains($0["transactionId"]?.string ?? "") }) else { return false }
        }
        return try await LedgerContents.waiting(in: ledger).isEmpty
    }
}
