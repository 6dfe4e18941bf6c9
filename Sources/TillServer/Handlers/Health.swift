import TillHTTP
import TillStorage

extension Server {
    /// `GET /healthz`: the process answers.
    func readHealth(_ call: Call) async throws -> HTTPResponse {
        JSONText.response(200, ["status": "ok"])
    }

    /// `GET /readyz`: the ledger can be read and written, or 503 with what can't.
    func readReadiness(_ call: Call) async throws -> HTTPResponse {
        struct Readiness: Encodable {
            let status: String
            let database: String
        }
        do {
            let now = clock()
            try await database.write { try HeartbeatTable($0).beat(at: now) }
            _ = try await database.read { try OrderTable($0).find(sequence: 1) }
            return JSONText.response(200, Readiness(status: "ready", database: "ok"))
        } catch {
            let kind = (error as? DatabaseFault)?.kind.rawValue ?? "unknown"
            var response = JSONText.response(503, Readiness(status: "not_ready", database: kind))
            response.headers.add("Retry-After", Server.retryAfter)
            return response
        }
    }
}
