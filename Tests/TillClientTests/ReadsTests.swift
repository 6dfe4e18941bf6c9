import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("The app's read requests")
struct ReadsTests {
    /// A server that answers from a list and records its requests.
    private final class Scripted: Sendable {
        let answers: Guarded<[TransportResponse]>
        let asked = Guarded<[TransportRequest]>([])
        let renewals = Guarded(0)

        init(_ answers: [TransportResponse]) { self.answers = Guarded(answers) }

        func access(renewsTo token: String = "first", as user: String = "ann") -> ServerAccess {
            ServerAccess(
                url: "https://till.test/",
                transport: Transport { (request) async throws(TransportError) -> TransportResponse in
                    self.asked.withLock { $0.append(request) }
                    guard let answer = self.answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                        throw TransportError(.offline)
                    }
                    return answer
                }, language: .chinese,
                renewed: { _ in
                    self.renewals.withLock { $0 += 1 }
                    return UserSession(userID: UserID(user), token: token)
                }
            ) { UserSession(userID: UserID("ann"), token: "first") }
        }

        var sent: [String] { asked.now.map { "\($0.headers["Authorization"] ?? "-")" } }
    }

    private static func json(_ text: String, status: Int = 200) -> TransportResponse {
        TransportResponse(status: status, contentType: "application/json", body: Array(text.utf8))
    }

    private static func refusal(_ refusal: Refusal, _ status: Int) -> TransportResponse {
        let problem = ProblemDetails(refusal: refusal, status: status, language: .english, requestId: "r")
        return TransportResponse(
            status: status, contentType: ProblemDetails.contentType,
            body: [UInt8]((try? JSONEncoder().encode(problem)) ?? Data()))
    }

    @Test("An expired token is replaced once, and the second answer is returned")
    func renews() async throws {
        let server = Scripted([Self.refusal(.unauthorized, 401), Self.json(#"{"balances":{"points":-5}}"#)])
        #expect(try await ServerReads(server: server.access(renewsTo: "second")).wallet() == ["points": -5])
        #expect(server.sent == ["Bearer first", "Bearer second"] && server.renewals.now == 1)

        let refused = Scripted([Self.refusal(.unauthorized, 401), Self.refusal(.unauthorized, 401), Self.json("{}")])
        await #expect(throws: StoreError.self) { try await ServerReads(server: refused.access(renewsTo: "b")).wallet() }
        #expect(refused.sent.count == 2)
    }

    @Test("The same token again, or another user's, is not sent")
    func renewsForTheSameUserOnly() async throws {
        for access in [
            (Scripted([Self.refusal(.unauthorized, 401)]), "first", "ann"),
            (Scripted([Self.refusal(.unauthorized, 401)]), "second", "bob"),
        ] {
            let server = access.0
            do {
                _ = try await ServerReads(server: server.access(renewsTo: access.1, as: access.2)).wallet()
                Issue.record("an answer out of nothing")
            } catch {
                #expect(error.code == "unauthorized" && !error.isRetryable)
            }
            #expect(server.sent == ["Bearer first"])
        }
    }

    @Test("Without a signed-in user nothing is sent")
    func signedOut() async {
        let server = Scripted([])
        let access = ServerAccess(url: "https://till.test", transport: server.access().transport, language: .english) {
            nil
        }
        let reads = ServerReads(server: access)
        await #expect(throws: StoreError.notSignedIn) { try await reads.wallet() }
        await #expect(throws: StoreError.notSignedIn) { try await reads.entitlements() }
        await #expect(throws: StoreError.notSignedIn) { try await reads.postings() }
        await #expect(throws: StoreError.notSignedIn) { try await reads.planPreview("basic_monthly") }
        await #expect(throws: StoreError.badQuantity) { try await reads.planPreview("basic_monthly", quantity: 11) }
        #expect(server.asked.now.isEmpty)
    }

    @Test("Unknown kinds of entitlements from a later server hide none of the others")
    func entitlements() async throws {
        let server = Scripted([
            Self.json(
                """
                {"data":[
                {"entitlement":"pro","productId":"a.pro","kind":"lasting","since":"2026-01-01T00:00:00.000Z",
                 "transactionId":"1"},
                {"entitlement":"basic","productId":"b","kind":"service","plan":"basic_monthly","deviceId":"d",
                 "deviceIds":["d","e"],
                 "since":"2026-01-02T00:00:00.500Z","expiresAt":"2026-02-01T00:00:00Z","transactionId":"2"},
                {"entitlement":"moon","productId":"c","kind":"leased","since":"2026-01-01T00:00:00Z",
                 "transactionId":"3","more":1}]}
                """)
        ])
        let rights = try await ServerReads(server: server.access()).entitlements()
        #expect(rights.map(\.name) == ["pro", "basic", "moon"])
        #expect(rights.map(\.kind) == [.lasting, .service, Entitlement.Kind(rawValue: "leased")])
        #expect(rights[0].expires == nil && rights[1].expires == Date(timeIntervalSince1970: 1_769_904_000))
        #expect(rights[1].since == Date(timeIntervalSince1970: 1_767_312_000.5) && rights[1].plan == "basic_monthly")
        #expect(rights[0].deviceIDs == nil && rights[1].deviceIDs == ["d", "e"])
        #expect(server.asked.now[0].url == "https://till.test/v1/users/ann/entitlements")
        #expect(server.asked.now[0].headers["Accept-Language"] == "zh" && server.asked.now[0].method == "GET")
    }

    @Test("Postings come page by page, and a cursor is returned unchanged")
    func postings() async throws {
        let posting =
            #"{"account":"user:ann","contra":"x","currency":"points","amount":-3,"#
            + #""kind":"debit","reference":"r","at":"2026-01-01T00:00:00Z"}"#
        let server = Scripted([
            Self.json(#"{"data":[\#(posting)],"hasMore":true,"nextCursor":"9&a"}"#),
            Self.json(#"{"data":[],"hasMore":false}"#),
        ])
        let reads = ServerReads(server: server.access(), sandbox: false)
        let first = try await reads.postings(limit: 1_000)
        #expect(first.postings.map(\.amount) == [-3] && first.postings[0].kind == "debit" && first.next == "9&a")
        let second = try await reads.postings(after: first.next)
        #expect(second.postings.isEmpty && second.next == nil)
        #expect(
            server.asked.now.map { String($0.url.dropFirst("https://till.test/v1/users/ann/wallet/".count)) } == [
                "postings?limit=100&environment=production", "postings?limit=20&cursor=9%26a&environment=production",
            ])
    }

    @Test("C6: the preview is the server's arithmetic, in both languages")
    func preview() async throws {
        let basic = PlanPreviewFixture.reply
        let server = Scripted([
            TransportResponse(status: 200, contentType: "application/json", body: Array(basic.utf8))
        ])
        let preview = try await ServerReads(server: server.access(), phoneID: "phone").planPreview(
            "premium_monthly", quantity: 2)
        #expect(preview.change == .upgrade && preview.plan == "premium_monthly" && preview.quantity == 2)
        #expect(preview.deviceIDs == ["phone", "tv"])
        #expect(preview.price == Decimal(string: "13.98") && preview.balance == Decimal(string: "1.5"))
        #expect(preview.currency == "USD" && preview.carriedDays == 6 && preview.carriedSeconds == 555_000)
        #expect(
            preview.explanation(in: "zh-Hans-CN") == ["一", "二"] && preview.explanation(in: "fr") == ["one", "two"])
        let sent = server.asked.now[0]
        #expect(sent.method == "POST" && sent.url == "https://till.test/v1/plans/preview")
        let body = try JSONDecoder().decode(PlanPreviewBody.self, from: Data(sent.body))
        #expect(body.planId == "premium_monthly" && body.quantity == 2 && body.userId == nil && body.at == nil)
        #expect(body.deviceId == "phone")
    }

    @Test("Unexpected bodies count as no answer, and nothing crashes")
    func hostile() async {
        for text in [
            "", "null", "[]", "{}", #"{"balances":{"points":1e400}}"#, #"{"balances":{"a":"b"}}"#, "{\"balances\":",
        ] {
            let server = Scripted([Self.json(text)])
            await #expect(throws: StoreError.server(.unreadable(status: 200, retryAfter: nil))) {
                try await ServerReads(server: server.access()).wallet()
            }
        }
    }
}

private enum PlanPreviewFixture {
    static let reply = """
        {"at":"2026-01-01T00:00:00.000Z","plan":"premium_monthly","productId":"com.x.premium_monthly",
        "change":"upgrade","price":{"amount":1398,"currency":"USD"},
        "dailyPrice":{"amount":23,"currency":"USD","exact":"233/10"},"current":[],
        "balance":{"amount":150,"currency":"USD","exact":"150"},"days":6,"seconds":555000,
        "boughtSeconds":5184000,"expiresAt":"2026-03-08T10:10:00.000Z","deviceIds":["phone","tv"],
        "explanation":{"en":["one","two"],"zh":["一","二"]}}
        """
}
