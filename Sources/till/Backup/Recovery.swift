import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

/// One `till recover`, against the server that serves the restored ledger.
struct Recovery {
    let server: ServerClient
    let call: Invocation

    private struct Unresolved {
        let place: String
        let reason: LocalizedText
    }

    private struct Counts {
        var claimed = 0
        var known = 0
        var merged = 0
        var debited = 0
        var unresolved: [Unresolved] = []
    }

    func run(_ facts: [RecoveredFact.Line], since restore: LedgerRestoreTable.Restore) async throws -> ExitCode {
        var result: ReconcileResult
        // A comparison that the backup has half-way continues first. It may have read the notifications already.
        repeat {
            result = try await ServerReconciliation(server, call).run(StartReconciliationBody())
            guard result.reconciliation.state == .finished else { return try result.report(call) }
        } while Int64(result.reconciliation.id).map { $0 <= restore.lastRun } ?? false
        var counts = Counts()
        // In the order of the file: a purchase of a guest comes before the merge.
        for line in facts {
            switch line.fact {
            case .purchase(let transaction, let user, let environment):
                try await claim(transaction, for: user, in: environment, line.place, &counts)
            case .order: break
            case .merge(let guest, let user): try await merge(guest, into: user, line.place, &counts)
            case .debit: break
            case .byHand(let sentence): counts.unresolved.append(Unresolved(place: line.place, reason: sentence))
            }
        }
        var waiting = try await quarantined()
        let found = Dictionary(waiting.map { ($0.token, $0) }, uniquingKeysWith: { first, _ in first })
        for line in facts {
            guard case .order(let id, let user) = line.fact, let purchase = found[id] else { continue }
            try await claim(purchase.transaction, for: user, in: purchase.environment, line.place, &counts)
        }
        // After the purchases, which pay for them.
        for line in facts {
            if case .debit(let user, let debit) = line.fact { try await make(debit, of: user, line.place, &counts) }
        }
        waiting = try await quarantined()
        return report(result, counts, waiting: waiting.count)
    }

    // MARK: One fact

    private func claim(
        _ transaction: String, for user: String, in environment: String?, _ place: String, _ counts: inout Counts
    ) async throws {
        var body: [String: JSONValue] = [
            "userId": .string(user), "reason": .string("till recover"), "operator": .string("till recover"),
        ]
        body["environment"] = environment.map { .string($0.lowercased()) }
        let path = Paths.quarantine + "/\(Paths.escaped(transaction))/claims"
        let answer = try await server.ask(.post, path, .object(body))
        switch (answer.status, answer.body["outcome"]?.string) {
        case (200, "granted"): counts.claimed += 1
        case (200, _): counts.known += 1
        default: counts.unresolved.append(Unresolved(place: place, reason: answer.problem(about: transaction)))
        }
    }

    private func merge(_ guest: String, into user: String, _ place: String, _ counts: inout Counts) async throws {
        let answer = try await server.ask(
            .post, Paths.guests(of: UserID(user)), ["guestId": .string(guest), "reason": "till recover"])
        switch answer.status {
        case 201: counts.merged += 1
        case 200: counts.known += 1
        default: counts.unresolved.append(Unresolved(place: place, reason: answer.problem(about: guest)))
        }
    }

    private func make(_ debit: DebitBody, of user: String, _ place: String, _ counts: inout Counts) async throws {
        let answer = try await server.ask(
            .post, Paths.wallet(of: UserID(user)) + "/debits",
            [
                "currency": .string(debit.currency), "amount": .int(debit.amount),
                "reference": .string(debit.reference),
            ])
        switch answer.status {
        case 201: counts.debited += 1
        case 200: counts.known += 1
        default: counts.unresolved.append(Unresolved(place: place, reason: answer.problem(about: debit.reference)))
        }
    }

    // MARK: Purchases without an owner

    private struct Quarantined {
        let transaction: String
        let environment: String?
        let token: String?
    }

    private func quarantined() async throws -> [Quarantined] {
        var (found, cursor): ([Quarantined], String?) = ([], nil)
        repeat {
            let path = Paths.quarantine + "?limit=100" + (cursor.map { "&cursor=\($0)" } ?? "")
            let answer = try await server.ask(.get, path, nil)
            guard answer.status == 200 else { throw CommandError(answer.problem(about: Paths.quarantine)) }
            for one in answer.body["data"]?.array ?? [] {
                guard let id = one["transactionId"]?.string else { continue }
                found.append(
                    Quarantined(
                        transaction: id, environment: one["environment"]?.string,
                        token: one["appAccountToken"]?.string))
            }
            cursor = answer.body["nextCursor"]?.string
        } while cursor != nil
        return found
    }

    // MARK: Output

    private func report(_ result: ReconcileResult, _ counts: Counts, waiting: Int) -> ExitCode {
        if call.wantsJSON {
            let unresolved = counts.unresolved.map { one -> JSONValue in
                ["line": .string(one.place), "reason": .string(one.reason[call.language])]
            }
            let document: JSONValue = [
                "reconciliation": .string(result.reconciliation.id), "claimed": .int(Int64(counts.claimed)),
                "known": .int(Int64(counts.known)), "merged": .int(Int64(counts.merged)),
                "debited": .int(Int64(counts.debited)), "unresolved": .array(unresolved),
                "waiting": .int(Int64(waiting)),
            ]
            call.console.print(document.encoded(pretty: true))
        }
        for one in counts.unresolved {
            call.warn(LocalizedText(en: "\(one.place): \(one.reason.en)", zh: "\(one.place)：\(one.reason.zh)"))
        }
        call.say(
            LocalizedText(
                en: "compared with Apple: \(counts.claimed) purchases given to their buyers, \(counts.merged) "
                    + "guests merged and \(counts.debited) debits made again; \(counts.known) were known; \(waiting) "
                    + "purchases wait in quarantine",
                zh: "已与 Apple 对账；把 \(counts.claimed) 笔购买交给买家，重新合并 \(counts.merged) 位游客，"
                    + "重做 \(counts.debited) 笔扣减；\(counts.known) 项原已存在；\(waiting) 笔购买待认领"))
        return counts.unresolved.isEmpty ? .done : .refused
    }
}
