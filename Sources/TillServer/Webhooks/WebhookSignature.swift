import TillBilling
import TillCrypto
import TillHTTP

/// Signs what is pushed as Standard Webhooks says: HMAC-SHA256 over `id.timestamp.body`, in base64, after `v1,`; one
/// for each secret, with a space between.
enum WebhookSignature {
    /// - Parameter seconds: since 1970, of the attempt and not of the event, so that a receiver can refuse what
    ///   somebody recorded and sends again.
    static func header(id: String, seconds: Int64, body: [UInt8], secrets: [WebhookSecret]) -> String {
        let signed = Array("\(id).\(seconds).".utf8) + body
        return secrets.map { "v1," + Base64.encode(HMACSHA256.code(for: signed, key: $0.bytes)) }
            .joined(separator: " ")
    }

    /// The whole request for one attempt.
    static func request(id: String, body: [UInt8], secrets: [WebhookSecret], at now: Instant) -> HTTPRequest {
        HTTPRequest(
            method: .post, path: "/",
            headers: HTTPHeaders([
                ("Content-Type", "application/json"), ("User-Agent", "Till"), ("webhook-id", id),
                ("webhook-timestamp", String(now.seconds)),
                ("webhook-signature", header(id: id, seconds: now.seconds, body: body, secrets: secrets)),
            ]), body: body)
    }
}
