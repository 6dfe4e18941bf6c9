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
    private let server: ServerCalls
    private let progress: ReconcileProgress

    init(_ server: ServerCalls, _ call: Invocation) {
        self.server = server
        progress = ReconcileProgress(call: call)
    }

    func run(_ body: StartReconciliationBody) async throws -> ReconcileResult {
        defer { progress.end() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let begun = try await ask(
            ReconciliationReply.self, .post, Paths.reconciliations, [UInt8](try encoder.encode(body)))
        let path = "\(Paths.reconciliations)/\(Paths.escaped(begun.id))"
        while true {
            let found = try await ask(ReconciliationDetail.self, .get, path + "?limit=100")
            let run = found.reconciliation
            progress.show(run)
            guard run.state == .finished || run.state == .failed else {
                try await Task.sleep(for: .seconds(1))
                continue
            }
            var (differences, page) = (found.differences.data, found.differences)
            while let cursor = page.nextCursor {
                page = try await ask(ReconciliationDetail.self, .get, "\(path)?limit=100&cursor=\(cursor)").differences
                differences += page.data
            }
            return ReconcileResult(reconciliation: run, differences: differences)
        }
    }

    private func ask<Reply: Decodable>(
        _ type: Reply.Type, _ method: HTTPMethod, _ path: String, _ body: [UInt8] = []
    ) async throws -> Reply {
        let response = try await server.send(method, path, body)
        let decoder = JSONDecoder()
        if (200..<300).contains(response.status), let reply = try? decoder.decode(type, from: Data(response.body)) {
            return reply
        }
        if let problem = try? decoder.decode(ProblemDetails.self, from: Data(response.body)) {
            throw CommandError(LocalizedText("\(shown(problem.title)) (\(shown(problem.code)))"))
        }
        throw server.unlikeTill(path, response)
    }
}
