import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillThreads

@testable import TillAppStore

/// Apple's two hosts with a test's answers, and a record of the requests.
final class CannedHosts: Sendable {
    struct Canned: Sendable {
        var status = 200
        var type: String? = "application/json"
        var headers: [AppleRequest.Header] = []
        var body: [UInt8]

        init(_ body: String, status: Int = 200, type: String? = "application/json") {
            self.body = Array(body.utf8)
            self.status = status
            self.type = type
        }

        init(_ json: JSONValue) { self.init(json.encoded()) }
    }

    private let production: Result<Canned, AppleConnectionError>
    private let sandbox: Result<Canned, AppleConnectionError>
    private let seen = Locked<[AppleRequest]>([])
    var requests: [AppleRequest] { seen.withLock { $0 } }

    init(_ production: Canned, sandbox: Canned = Canned(["status": 21005])) {
        self.production = .success(production)
        self.sandbox = .success(sandbox)
    }

    init(_ outage: AppleConnectionError) {
        production = .failure(outage)
        sandbox = .failure(outage)
    }

    func client(secret: String? = nil, responseLimit: Int = 1 << 20) -> VerifyReceiptClient {
        VerifyReceiptClient(
            exchange: { request async throws(AppleConnectionError) in
                self.seen.withLock { $0.append(request) }
                let canned = try (request.url.contains("sandbox") ? self.sandbox : self.production).get()
                var headers = canned.headers
                if let type = canned.type { headers.append(AppleRequest.Header("content-type", type)) }
                return AppleResponse(status: canned.status, headers: headers, body: canned.body)
            }, secret: secret.map(AppSharedSecret.init), responseLimit: responseLimit)
    }

    func verify() async throws -> VerifyReceiptOutcome {
        await client().verify(try VerifyReceiptRequest(receipt: [1, 2, 3]))
    }
}

@Suite("The client of verifyReceipt (P2)")
struct VerifyReceiptClientTests {
    typealias Canned = CannedHosts.Canned

    @Test("It posts base64 without line breaks to production, with the secret, once")
    func request() async throws {
        let hosts = CannedHosts(Canned(TestAnswers.full))
        let bytes = (0..<200).map { UInt8($0) }
        let wrapped = Base64.encode(bytes).enumerated()
            .map { $0.offset % 64 == 63 ? "\($0.element)\r\n" : "\($0.element)" }.joined()
        let request = try VerifyReceiptRequest(base64: wrapped, excludesOldTransactions: true)
        let outcome = await hosts.client(secret: "00112233445566778899aabbccddeeff").verify(request)
        #expect(outcome == .answered(try TestAnswers.decode(TestAnswers.full), from: .production))
        let sent = try #require(hosts.requests.first)
        #expect(hosts.requests.count == 1)
        #expect(sent.method == .post && sent.url == "https://buy.itunes.apple.com/verifyReceipt")
        #expect(sent.headers.first == AppleRequest.Header("Content-Type", "application/json"))
        #expect(sent.responseLimit == 1 << 20)
        let body: JSONValue = [
            "receipt-data": .string(Base64.encode(bytes)), "password": "00112233445566778899aabbccddeeff",
            "exclude-old-transactions": true,
        ]
        #expect(try JSONValue(decoding: sent.body) == body)
        let plain = CannedHosts(Canned(TestAnswers.full))
        _ = try await plain.verify()
        #expect(try JSONValue(decoding: plain.requests.first?.body ?? []) == ["receipt-data": "AQID"])
    }

    @Test("A text that can't be a receipt is not sent")
    func unusableRequests() {
        #expect(throws: InvalidRequestError("receipt-data", .missing)) { try VerifyReceiptRequest(base64: " \n") }
        for text in ["AQI", "AQ ID=", "A_-=", "AQID;", "AQIB=", "é"] {
            #expect(throws: InvalidRequestError("receipt-data", .badText), "\(text)") {
                try VerifyReceiptRequest(base64: text)
            }
        }
        let long = [UInt8](repeating: 0, count: SignedDataVerifier.receiptLimit + 1)
        #expect(throws: InvalidRequestError("receipt-data", .tooLong)) { try VerifyReceiptRequest(receipt: long) }
        #expect(throws: InvalidRequestError("receipt-data", .tooLong)) {
            try VerifyReceiptRequest(base64: String(repeating: "A", count: 13 << 20))
        }
    }

    @Test("The shared secret appears in no text, dump or outcome (T7)")
    func secrecy() async throws {
        let text = "5ecre7-5ecre7-5ecre7"
        let secret = AppSharedSecret(text)
        var dumped = ""
        dump(secret, to: &dumped)
        dump([secret], to: &dumped)
        for shown in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] { #expect(!shown.contains(text)) }
        let bodies = ["{\"status\":21004}", "<html>", "{\"password\":\"\(text)\"}"]
        for body in bodies {
            let client = CannedHosts(Canned(body)).client(secret: text)
            let outcome = await client.verify(try VerifyReceiptRequest(receipt: [1]))
            #expect(!"\(outcome)".contains(text))
            var dumpedClient = ""
            dump(client, to: &dumpedClient)
            #expect(!dumpedClient.contains(text))
        }
    }

    /// The outcome of each status when production answers it and the sandbox answers 21005.
    static let outcomes: [(JSONValue, VerifyReceiptOutcome)] = [
        (["status": 21000], .misconfigured(.notPost)),
        (["status": 21001], .retry(.status(.malformedJSON), after: nil)),
        (["status": 21002], .retry(.status(.malformed), after: nil)),
        (["status": 21003], .refused(.notAuthentic, isFinal: false)),
        (["status": 21003, "environment": "Production"], .refused(.notAuthentic, isFinal: false)),
        (["status": 21004], .misconfigured(.wrongSecret)),
        (["status": 21005], .retry(.status(.unavailable), after: nil)),
        (["status": 21007], .retry(.status(.unavailable), after: nil)),
        (["status": 21008], .retry(.environmentsDisagree(.productionReceipt), after: nil)),
        (["status": 21009], .retry(.status(.dataAccess), after: nil)),
        (["status": 21010], .refused(.accountNotFound, isFinal: true)),
        (["status": "21010"], .refused(.accountNotFound, isFinal: true)),
        (["status": 21042], .retry(.status(VerifyReceiptStatus(rawValue: 21042)), after: nil)),
    ]

    @Test("Every status has its outcome (P2)", arguments: outcomes)
    func statuses(_ answer: JSONValue, _ outcome: VerifyReceiptOutcome) async throws {
        #expect(try await CannedHosts(Canned(answer)).verify() == outcome)
    }

    @Test("21006 is an answer: genuine and expired")
    func expired() async throws {
        let outcome = try await CannedHosts(Canned(TestAnswers.legacy)).verify()
        #expect(outcome == .answered(try TestAnswers.decode(TestAnswers.legacy), from: .production))
    }

    @Test("21100 to 21199 are retried as is-retryable says, in both spellings and six forms; without it, retried")
    func flags() async throws {
        let forms: [(JSONValue, Bool)] = [
            (true, true), (1, true), ("true", true), ("1", true), (false, false), (0, false), ("false", false),
            ("0", false),
        ]
        for code in [Int64(21100), 21104, 21199] {
            let status = VerifyReceiptStatus(rawValue: code)
            for (value, isRetryable) in forms {
                for name in ["is-retryable", "is_retryable"] {
                    let outcome = try await CannedHosts(Canned(["status": .int(code), name: value])).verify()
                    let expected: VerifyReceiptOutcome =
                        isRetryable ? .retry(.status(status), after: nil) : .refused(status, isFinal: true)
                    #expect(outcome == expected, "\(code) \(name) \(value)")
                }
            }
            #expect(
                try await CannedHosts(Canned(["status": .int(code)])).verify() == .retry(.status(status), after: nil))
        }
        // Elsewhere the flag has no effect: it neither excuses a forgery nor ends an outage.
        #expect(
            try await CannedHosts(Canned(["status": 21003, "is-retryable": true])).verify()
                == .refused(.notAuthentic, isFinal: false))
        #expect(
            try await CannedHosts(Canned(["status": 21005, "is-retryable": false])).verify()
                == .retry(.status(.unavailable), after: nil))
    }

    @Test("21007 is sent once more to the sandbox with the identical body, and never back (P2)")
    func switching() async throws {
        let hosts = CannedHosts(Canned(["status": 21007]), sandbox: Canned(TestAnswers.full))
        #expect(try await hosts.verify() == .answered(try TestAnswers.decode(TestAnswers.full), from: .sandbox))
        let urls = hosts.requests.map(\.url)
        #expect(
            urls == ["https://buy.itunes.apple.com/verifyReceipt", "https://sandbox.itunes.apple.com/verifyReceipt"])
        #expect(hosts.requests[0].body == hosts.requests[1].body)
        let undecided = CannedHosts(Canned(["status": 21007]), sandbox: Canned(["status": 21008]))
        #expect(try await undecided.verify() == .retry(.environmentsDisagree(.productionReceipt), after: nil))
        #expect(undecided.requests.count == 2)
        let confused = CannedHosts(Canned(["status": 21007]), sandbox: Canned(["status": 21007]))
        #expect(try await confused.verify() == .retry(.environmentsDisagree(.sandboxReceipt), after: nil))
        #expect(confused.requests.count == 2)
    }

    /// Responses seen in place of an answer. They say nothing about the purchase.
    static let troubles: [(Canned, VerifyReceiptRetryReason)] = [
        (
            Canned("<html><body><b>Http/1.1 Service Unavailable</b></body></html>", type: "text/html"), .page
        ),
        (Canned("{\"status\":21003}", type: "text/html; charset=UTF-8"), .page),
        (Canned("{\"status\":0}", type: "application/xhtml+xml"), .page),
        (Canned("<!DOCTYPE html><title>We'll be back soon</title>"), .unusable(.notJSON)),
        (Canned("<?xml version=\"1.0\"?><plist><dict/></plist>", type: "text/xml"), .unusable(.notJSON)),
        (Canned("Service Unavailable", type: "text/plain"), .unusable(.notJSON)),
        (Canned("", type: nil), .unusable(.empty)),
        (Canned("{\"status\":21003}", status: 503), .httpStatus(503)),
        (Canned("{\"status\":21003}", status: 500), .httpStatus(500)),
        (Canned("{\"status\":0}", status: 400), .httpStatus(400)),
        (Canned("{\"status\":21010}", status: 404), .httpStatus(404)),
        (Canned("", status: 302, type: nil), .httpStatus(302)),
        (Canned("", status: 301, type: nil), .httpStatus(301)),
        (Canned("{\"status\":0}", status: 204), .httpStatus(204)),
        (Canned("{\"status\":0}", status: 206), .httpStatus(206)),
        (Canned("", status: 407, type: nil), .httpStatus(407)),
        (Canned("{\"status\":{}}"), .unusable(.member("status"))),
        (Canned("{\"error\":{\"code\":502}}"), .unusable(.member("status"))),
        (Canned(String(repeating: " ", count: 2 << 20) + "{\"status\":21003}"), .outage(.responseTooLarge)),
    ]

    @Test("A page, an empty body, a redirect, a 5xx, a wrong type: try again, never invalid (P2)", arguments: troubles)
    func outages(_ canned: Canned, _ trouble: VerifyReceiptRetryReason) async throws {
        #expect(try await CannedHosts(canned).verify() == .retry(trouble, after: nil))
        // The same after the switch to the sandbox.
        let later = CannedHosts(Canned(["status": 21007]), sandbox: canned)
        #expect(try await later.verify() == .retry(trouble, after: nil))
    }

    @Test(
        "A missing answer is a retry with its reason",
        arguments: [AppleConnectionError.Reason.unreachable, .timedOut, .connectionLost, .responseTooLarge, .stopped])
    func noResponse(_ reason: AppleConnectionError.Reason) async throws {
        #expect(try await CannedHosts(AppleConnectionError(reason)).verify() == .retry(.outage(reason), after: nil))
    }

    @Test(
        "Retry-After is returned in milliseconds; a date, a text and more than a day are ignored",
        arguments: [
            ("120", 120_000), ("0", 0), ("86400", 86_400_000), ("86401", nil), ("-1", nil), ("soon", nil),
            ("Wed, 21 Oct 2026 07:28:00 GMT", nil), ("9223372036854775807", nil), ("", nil),
        ] as [(String, Int64?)])
    func retryAfter(_ text: String, _ after: Int64?) async throws {
        var canned = Canned("busy", status: 503, type: "text/html")
        canned.headers = [AppleRequest.Header("retry-after", text)]
        #expect(try await CannedHosts(canned).verify() == .retry(.httpStatus(503), after: after))
    }
}
