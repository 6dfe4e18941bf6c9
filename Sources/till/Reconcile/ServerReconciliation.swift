import TillAPI
import TillBilling
import TillHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A comparison by the server that uses the ledger, requested over HTTP.
struct ServerReconciliation {
    private let client: ServerClient
    private let progress: ReconcileProgress

    init(_ client: ServerClient, _ call: Invocation) {
        self.client = client
        progress = ReconcileProgress(call: call)
    }

    func run(_ body: StartReconciliationBody) async throws -> ReconcileResult {
        defer { progress.end() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let begun = try await client.ask(
            ReconciliationReply.self, .post, Paths.reconciliations, [UInt8](try encoder.encode(body)))
        let path = "\(Paths.reconciliations)/\(Paths.escaped(begun.id))"
        while true {
            let found = try await client.ask(ReconciliationDetail.self, .get, path + "?limit=100")
            let run = found.reconciliation
            progress.show(run)
            guard run.state == .finished || run.state == .failed else {
                try await Task.sleep(for: .seconds(1))
                continue
            }
            var (differences, page) = (found.differences.data, found.differences)
            while let cursor = page.nextCursor {
                page = try await client.ask(ReconciliationDetail.self, .get, "\(path)?limit=100&cursor=\(cursor)")
                    .differences
                differences += page.data
            }
            return ReconcileResult(reconciliation: run, differences: differences)
        }
    }
}
