import Testing
import TillBilling
import TillJSON
import TillThreads

@testable import TillAppStore

@Suite("App Store Server API: paging")
struct ServerAPIPagingTests {
    private static let id = TransactionID("2000000900000001")
    private static let authority = TestAuthority()

    private static func signed(_ id: String, at seconds: Int64 = 0, revoked: Bool = false) -> JSONValue {
        let date = TestPayloads.signedDate + seconds * 1_000
        return .string(
            authority.sign(
                TestPayloads.transaction([
                    "transactionId": .string(id), "signedDate": .int(date),
                    "revocationDate": revoked ? .int(date) : nil,
                ])))
    }

    private static func page(_ transactions: [JSONValue], _ revision: String?, more: Bool) -> AppleResponse {
        .json([
            "signedTransactions": .array(transactions), "revision": revision.map(JSONValue.string) ?? .null,
            "hasMore": .bool(more), "bundleId": "com.example.learn", "environment": "Production", "appAppleId": 1,
            "somethingNew": ["a": 1],
        ])
    }

    /// The value of a query's parameter.
    private static func parameter(_ name: String, of request: AppleRequest) -> String? {
        request.url.split(separator: "?").last?.split(separator: "&").first { $0.hasPrefix("\(name)=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    @Test("Each page is requested with the revision of the page before, until the last, and the filter stays")
    func walk() async throws {
        let apple = CannedApple(
            Self.page(["a", "b"], "r 1", more: true), Self.page(["c"], "r2", more: true),
            Self.page([], "r3", more: false))
        var filter = HistoryFilter()
        filter.order = .ascending
        filter.kinds = [.consumable]
        var transactions: [String] = []
        var revision: String?
        for try await page in try apple.api().historyPages(of: Self.id, filter: filter, since: "r0") {
            transactions += page.value.transactions.map(\.jws)
            revision = page.value.revision
        }
        #expect(transactions == ["a", "b", "c"])
        #expect(revision == "r3")
        #expect(apple.asked.map { Self.parameter("revision", of: $0) } == ["r0", "r%201", "r2"])
        #expect(apple.asked.allSatisfy { Self.parameter("sort", of: $0) == "ASCENDING" })
        #expect(apple.asked.allSatisfy { Self.parameter("productType", of: $0) == "CONSUMABLE" })
    }

    @Test("A transaction that changes during paging appears once, in its newest copy; data not from Apple is set aside")
    func reappearing() async throws {
        let stranger = TestAuthority().sign(TestPayloads.transaction(["transactionId": "9"]))
        let apple = CannedApple(
            Self.page([Self.signed("1"), Self.signed("2")], "r1", more: true),
            Self.page([Self.signed("3"), .string(stranger), "not a token"], "r2", more: true),
            Self.page([Self.signed("1", at: 60, revoked: true), Self.signed("3", at: -60)], "r3", more: false))
        let verifier = try Self.authority.verifier()
        let history = try await apple.api().verifiedHistory(of: Self.id, by: verifier)
        #expect(history.transactions.map(\.id.text) == ["1", "2", "3"])
        #expect(history.transactions.map(\.isRevoked) == [true, false, false])
        #expect(history.transactions.last?.signedDate == TestAuthority.today)
        #expect(history.refused.map(\.verdict) == [.chainUntrusted, .malformed])
        #expect(history.refused.first?.transaction.jws == stranger)
        #expect(history.revision == "r3")
        #expect(history.environment == .production)
    }

    @Test("The changes since a stored revision come without earlier data")
    func sinceRevision() async throws {
        let apple = CannedApple { request in
            Self.parameter("revision", of: request) == "kept"
                ? Self.page([Self.signed("2")], "later", more: false) : .error(4_000_005)
        }
        let verifier = try Self.authority.verifier()
        let history = try await apple.api().verifiedHistory(of: Self.id, since: "kept", by: verifier)
        #expect(history.transactions.map(\.id.text) == ["2"] && history.revision == "later")
    }

    @Test("Pages that repeat, lead nowhere or never end stop the paging with a fault")
    func endless() async throws {
        let counter = Locked(0)
        let rows: [(CannedApple, asked: Int)] = [
            (CannedApple(Self.page(["a"], "r1", more: true)), 2),
            (
                CannedApple { request in
                    Self.page([], Self.parameter("revision", of: request) == "r1" ? "r2" : "r1", more: true)
                }, 3
            ),
            (
                CannedApple { _ in
                    Self.page([], "r\(counter.withLock { count in count += 1; return count })", more: true)
                }, 25
            ),
            (CannedApple(Self.page(["a"], nil, more: true)), 1),
            (CannedApple(Self.page(["a"], "", more: true)), 1),
            (CannedApple(Self.page(["a"], String(repeating: "r", count: 4_097), more: true)), 1),
        ]
        for (index, row) in rows.enumerated() {
            let api = try row.0.api()
            let found = await thrownError { () throws(ServerAPIError) in
                var pages = api.historyPages(of: Self.id, pageLimit: 25, retrying: .none).makeAsyncIterator()
                while try await pages.next() != nil {}
            }
            guard case .unreadable(let answer) = found else {
                Issue.record("row \(index): \(String(describing: found))")
                continue
            }
            #expect(answer.reason == (index < 3 ? .endless : .malformed), "row \(index)")
            #expect(found?.isRetryable == true)
            #expect(row.0.asked.count == row.asked, "row \(index)")
        }
    }

    @Test("A fault does not advance the paging: the next request asks for the same page")
    func faultInBetween() async throws {
        let apple = CannedApple(
            Self.page(["a"], "r1", more: true), .error(5_000_000), Self.page(["b"], "r2", more: false))
        let api = try apple.api()
        var pages = api.historyPages(of: Self.id, retrying: .none).makeAsyncIterator()
        #expect(try await pages.next()?.value.transactions.map(\.jws) == ["a"])
        await #expect(throws: ServerAPIError.self) { _ = try await pages.next() }
        #expect(try await pages.next()?.value.transactions.map(\.jws) == ["b"])
        #expect(try await pages.next() == nil)
        #expect(apple.asked.map { Self.parameter("revision", of: $0) } == [nil, "r1", "r1"])
    }

    @Test("Refunds are paged and verified the same way (U5)")
    func refunds() async throws {
        let apple = CannedApple(
            Self.page([Self.signed("1", revoked: true)], "r1", more: true),
            Self.page([Self.signed("2", revoked: true)], "r2", more: false))
        let refunds = try await apple.api().verifiedRefunds(of: Self.id, by: try Self.authority.verifier())
        #expect(refunds.transactions.map(\.id.text) == ["1", "2"])
        #expect(refunds.transactions.allSatisfy { $0.isRevoked })
        #expect(apple.asked.map { $0.url.contains("/v2/refund/lookup/") } == [true, true])
    }

    @Test("A week of notifications is paged with the same body and each page's token (U3)")
    func notifications() async throws {
        let payload = Self.authority.sign(TestPayloads.notification())
        func page(_ token: String?, more: Bool) -> AppleResponse {
            let attempts: JSONValue = [
                ["attemptDate": 1_748_735_000_000, "sendAttemptResult": "TIMED_OUT"],
                ["attemptDate": 1_748_735_000_001, "sendAttemptResult": "SOMETHING_NEW"], [:],
            ]
            return .json([
                "notificationHistory": [["signedPayload": .string(payload), "sendAttempts": attempts]],
                "paginationToken": token.map(JSONValue.string) ?? .null, "hasMore": .bool(more),
            ])
        }
        let apple = CannedApple(page("p1", more: true), page("p2", more: true), page(nil, more: false))
        let query = NotificationQuery(from: TestAuthority.today.adding(seconds: -604_800), to: TestAuthority.today)
        var found: [SentNotification] = []
        for try await page in try apple.api().notificationPages(query, in: .production) {
            found += page.value.notifications
        }
        #expect(found.count == 3)
        #expect(
            found.first?.attempts == [
                SendAttempt(date: Instant(milliseconds: 1_748_735_000_000), result: .timedOut),
                SendAttempt(
                    date: Instant(milliseconds: 1_748_735_000_001), result: .init(rawValue: "SOMETHING_NEW")),
                SendAttempt(date: nil, result: nil),
            ])
        let verified = try found.first?.notification.verified(by: try Self.authority.verifier())
        #expect(verified?.type == .oneTimeCharge)
        #expect(apple.asked.map { Self.parameter("paginationToken", of: $0) } == [nil, "p1", "p2"])
        #expect(Set(apple.asked.map(\.body)).count == 1)
    }

    @Test("A large page is accepted, up to four megabytes")
    func heavyPage() async throws {
        let heavy = JSONValue.string(String(repeating: "a", count: 180_000))
        let apple = CannedApple(Self.page([JSONValue](repeating: heavy, count: 20), "r1", more: false))
        let page = try await apple.api().history(of: Self.id)
        #expect(page.value.transactions.count == 20)
        let tooHeavy = CannedApple(Self.page([JSONValue](repeating: heavy, count: 24), "r1", more: false))
        let api = try tooHeavy.api()
        let found = await thrownError { () throws(ServerAPIError) in try await api.history(of: Self.id) }
        guard case .outage(let outage) = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(outage.reason == .responseTooLarge)
    }
}
