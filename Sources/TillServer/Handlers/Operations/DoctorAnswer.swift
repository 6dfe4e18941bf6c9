import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

/// How `till doctor` recognises a running server through `GET /healthz`: both know the secret of the ledger. The answer
/// shows what a proxy in front makes of a request; only a caller who can read the ledger's file gets it.
package enum DoctorQuestion {
    package static let header = "Till-Doctor"
    private static let purpose = Array("till doctor ".utf8)

    /// - Parameter nonce: random bytes.
    package static func value(nonce: [UInt8], secret: [UInt8]) -> String {
        Base64.encode(nonce, .url) + "." + Base64.encode(HMACSHA256.code(for: purpose + nonce, key: secret), .url)
    }

    static func isValid(_ value: String, secret: [UInt8]) -> Bool {
        let parts = value.split(separator: ".")
        guard parts.count == 2, let nonce = Base64.decode(parts[0], .url), let code = Base64.decode(parts[1], .url)
        else { return false }
        return HMACSHA256.isValid(code, for: purpose + nonce, key: secret)
    }
}

extension Server {
    /// `GET /healthz`: 200 while the process answers.
    func readHealth(_ call: Call) async throws -> HTTPResponse {
        guard let question = call.request.headers[DoctorQuestion.header], question.utf8.count <= 200,
            let identity = try await database.read({ try LedgerIdentityTable($0).find() }),
            DoctorQuestion.isValid(question, secret: identity.secret)
        else { return JSONText.response(200, ["status": "ok"]) }
        let request = call.request
        return JSONText.response(
            200,
            DoctorAnswer(
                status: "ok", version: monitoring.version, ledger: identity.id.description,
                bundleId: configuration.apple.bundleID, host: request.headers["Host"] ?? "", client: request.client,
                peer: request.peer, isAddressedHere: operators.isAddressedHere(request),
                isEncrypted: request.isEncrypted, frozenJobs: jobHistory.frozen(at: machineClock()),
                floodRefusals: requestFigures.floodRefusals(at: monitoring.stopwatch())))
    }
}

/// What a server answers `till doctor`.
package struct DoctorAnswer: Codable, Sendable {
    package let status: String
    package let version: String
    package let ledger: String
    package let bundleId: String
    /// The `Host` of the request, as it arrived.
    package let host: String
    /// Whose address the server takes for the client's, and the other end of the socket.
    package let client: String
    package let peer: String
    /// Whether the dashboard answers under the request's `Host`.
    package let isAddressedHere: Bool
    /// Whether the proxy in front says that the browser's connection is encrypted.
    package let isEncrypted: Bool
    /// The background jobs that have not ended well for too long.
    package let frozenJobs: [String]
    /// Requests of the last five minutes that were refused because their callers send more than they may.
    package let floodRefusals: Int64
}
