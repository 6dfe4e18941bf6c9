import Foundation

/// Makes one purchase in one of the ways of real clients, and checks after the server's restart what it has kept.
struct Buyer: Sendable {
    /// The ways to submit the same purchase.
    enum Manner: CaseIterable {
        /// Opens the order and posts the proof.
        case plain
        /// Posts the proof twice at the same time.
        case impatient
        /// Posts everything with an `Idempotency-Key`, then the proof once more.
        case keyed
        /// The app's proof and Apple's notification of the same transaction arrive at the same time.
        case twoSources
        /// The app submits nothing; only Apple's notification arrives.
        case notified
        /// Spends part of the points at once, with two requests under one reference.
        case spender
    }

    static let debitEach: Int64 = 10

    let number: Int
    let proof: String
    let notification: String

    init(_ number: Int, _ issuer: LoadIssuer) throws {
        self.number = number
        proof = try issuer.proof(number)
        notification = try issuer.notification(number, about: proof)
    }

    var manner: Manner { Manner.allCases[number % Manner.allCases.count] }
    private var reference: String { "debit-\(number)" }

    // MARK: Under load

    func buy(_ api: ServerAPI) async -> Attempt {
        var attempt = Attempt(self)
        attempt.note(order: await api.openOrder(number, key: manner == .keyed ? "order-\(number)" : nil))
        guard attempt.isOrderOpen else { return attempt }
        switch manner {
        case .plain:
            attempt.note(proof: await api.submit(proof))
        case .impatient:
            async let first = api.submit(proof)
            async let second = api.submit(proof)
            attempt.note(proof: await first)
            attempt.note(proof: await second)
        case .keyed:
            attempt.note(proof: await api.submit(proof, key: "proof-\(number)"))
            if attempt.isGranted { attempt.note(proof: await api.submit(proof, key: "proof-\(number)")) }
        case .twoSources:
            async let posted = api.submit(proof)
            async let notified = api.notify(notification)
            attempt.note(proof: await posted)
            attempt.note(notification: await notified)
        case .notified:
            attempt.note(notification: await api.notify(notification))
        case .spender:
            attempt.note(proof: await api.submit(proof))
            if attempt.isGranted { await spend(api, &attempt) }
        }
        return attempt
    }

    private func spend(_ api: ServerAPI, _ attempt: inout Attempt) async {
        let user = LoadSet.user(number)
        async let first = api.debit(user, amount: Self.debitEach, reference: reference)
        async let second = api.debit(user, amount: Self.debitEach, reference: reference)
        attempt.note(debit: await first)
        attempt.note(debit: await second)
    }

    // MARK: After the restart

    /// The next server's answers compared with those of the killed one. Unanswered requests are completed now.
    struct Findings: Sendable {
        /// Answered before, and missing now.
        var lost: [String] = []
        /// Recorded more than once.
        var twice: [String] = []
        var faults: [String] = []
    }

    func comeBack(_ before: Attempt, _ api: ServerAPI) async -> Findings {
        var findings = Findings(faults: before.faults)
        var now = Attempt(self)
        let order = await api.openOrder(number)
        now.note(order: order)
        if before.isOrderOpen, order.status == 201 { findings.lost.append("order \(number)") }

        if manner == .notified { await awaitNotification(before, api, &now, &findings) }
        let key = manner == .keyed ? "proof-\(number)" : nil
        now.note(proof: await api.submit(proof, key: key))
        // A stored notification may be processed after this proof; then the proof causes the grant.
        if now.freshGrants > 0, before.isGranted { findings.lost.append("grant \(number)") }
        if now.freshGrants > 0, manner == .notified { findings.twice.append("grant \(number)") }
        if before.freshGrants > 1 { findings.twice.append("grant \(number)") }

        if manner == .spender {
            let debit = await api.debit(LoadSet.user(number), amount: Self.debitEach, reference: reference)
            now.note(debit: debit)
            if before.isSpent, debit.status == 201 { findings.lost.append("debit \(number)") }
            if before.freshDebits > 1 { findings.twice.append("debit \(number)") }
        }
        if now.isCutOff { findings.faults.append("purchase \(number): no answer from a server that runs") }
        findings.faults += now.faults
        return findings
    }

    /// The next server processes a stored notification by itself; an unacknowledged one is sent again, as Apple does.
    private func awaitNotification(
        _ before: Attempt, _ api: ServerAPI, _ now: inout Attempt, _ findings: inout Findings
    ) async {
        if !before.isNotified { now.note(notification: await api.notify(notification)) }
        for _ in 0..<200 {
            if await api.orderStatus(number) == "completed" { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
        findings.lost.append("notification \(number)")
    }
}
