import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls by operators and backends, on a server without a key for Apple's API.
    static let reconciliationCalls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
        (.post, Paths.reconciliations, Paths.reconciliations, ["dryRun": true], 501),
        (.post, Paths.reconciliations, Paths.reconciliations, ["dryRun": 1], 400),
        (.get, Paths.reconciliations, Paths.reconciliations, nil, 200),
        (.get, Paths.reconciliation, "/v1/reconciliations/1", nil, 404),
        (.get, Paths.metrics, Paths.metrics, nil, 401),
    ]

    /// Request and reply bodies, each once with every member and once with the required members only.
    static var reconciliationSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            let count = ReconciliationReply.Count(environment: .sandbox, name: "customers", count: 1)
            let run = ReconciliationReply(
                id: "1", dryRun: false, state: .running, asked: ("first", "till"), since: nil, beganAt: at)
            var full = ReconciliationReply(
                id: "1", dryRun: false, state: .waiting, asked: ("asked", "till"), since: at, beganAt: at)
            full.phase = "customers"
            full.environment = .sandbox
            full.done = 1
            (full.progressedAt, full.waitsUntil, full.endedAt) = (at, at, at)
            (full.waitsFor, full.ending, full.counts) = ("outage", "reconciled", [count])
            var difference = Difference(
                .refundMissed, in: .sandbox, transaction: TransactionID("1"), order: UniqueID(high: 1, low: 2),
                was: "granted", now: "revoked")
            difference.notificationID = "n"
            let reported = DifferenceReply(difference, foundAt: at)
            let least = DifferenceReply(Difference(.responseRefused, in: .sandbox), foundAt: nil)
            let page = Page(data: [reported], hasMore: false, nextCursor: nil)
            return [
                "StartReconciliation": try both(
                    StartReconciliationBody(dryRun: true, since: at), StartReconciliationBody()),
                "ReconciliationCount": try same(count), "Reconciliation": try both(full, run),
                "Difference": try both(reported, least),
                "DifferencePage": try same(page),
                "ReconciliationPage": try same(Page(data: [run], hasMore: false, nextCursor: nil)),
                "ReconciliationDetail": try same(ReconciliationDetail(full, page)),
            ]
        }
    }
}
