import Foundation
import Testing
import TillBilling
import TillCrypto

@testable import TillAppStore

@Suite("App Store Server API: errors")
struct ServerAPIErrorTests {
    /// Code, Apple's name, and when to retry (facts/server-api §6).
    private static let codes = """
        4000000 GeneralBadRequest never
        4000002 InvalidAppIdentifier never
        4000005 InvalidRequestRevision never
        4000006 InvalidTransactionId never
        4000008 InvalidOriginalTransactionId never
        4000009 InvalidExtendByDays never
        4000010 InvalidExtendReasonCode never
        4000011 InvalidRequestIdentifier never
        4000012 StartDateTooFarInPast never
        4000013 StartDateAfterEndDate never
        4000014 InvalidPaginationToken never
        4000015 InvalidStartDate never
        4000016 InvalidEndDate never
        4000017 PaginationTokenExpired never
        4000018 InvalidNotificationType never
        4000019 MultipleFiltersSupplied never
        4000020 InvalidTestNotificationToken never
        4000021 InvalidSort never
        4000022 InvalidProductType never
        4000023 InvalidProductId never
        4000024 InvalidSubscriptionGroupIdentifier never
        4000025 InvalidExcludeRevoked never
        4000026 InvalidInAppOwnershipType never
        4000027 InvalidEmptyStorefrontCountryCodeList never
        4000028 InvalidStorefrontCountryCode never
        4000030 InvalidRevoked never
        4000031 InvalidStatus never
        4000032 InvalidAccountTenure never
        4000033 InvalidAppAccountToken never
        4000034 InvalidConsumptionStatus never
        4000035 InvalidCustomerConsented never
        4000036 InvalidDeliveryStatus never
        4000037 InvalidLifetimeDollarsPurchased never
        4000038 InvalidLifetimeDollarsRefunded never
        4000039 InvalidPlatform never
        4000040 InvalidPlayTime never
        4000041 InvalidSampleContentProvided never
        4000042 InvalidUserStatus never
        4000043 InvalidTransactionNotConsumable never
        4000044 InvalidRefundPreference never
        4000047 InvalidTransactionTypeNotSupported never
        4000048 AppTransactionIdNotSupported never
        4000183 InvalidAppAccountTokenUUID never
        4000185 FamilyTransactionNotSupported never
        4000187 TransactionIdIsNotOriginalTransactionId never
        4000209 ConsumptionPercentageNotAllowed never
        4030004 SubscriptionExtensionIneligible never
        4030005 SubscriptionMaxExtension never
        4030007 FamilySharedSubscriptionExtensionIneligible never
        4040001 AccountNotFound never
        4040002 AccountNotFoundRetryable soon
        4040003 AppNotFound never
        4040004 AppNotFoundRetryable soon
        4040005 OriginalTransactionIdNotFound never
        4040006 OriginalTransactionIdNotFoundRetryable soon
        4040007 ServerNotificationURLNotFound never
        4040008 TestNotificationNotFound never
        4040009 StatusRequestNotFound never
        4040010 TransactionIdNotFound never
        4040019 AppTransactionDoesNotExist never
        5000000 GeneralInternal late
        5000001 GeneralInternalRetryable soon
        4000999 - never
        4090001 - never
        5030000 - late
        """

    private static let id = TransactionID("2000000900000001")

    private static func ask(_ apple: CannedApple) async throws -> ServerAPIError? {
        let api = try apple.api(environments: [.production])
        return await thrownError { () throws(ServerAPIError) in try await api.transactionInfo(id) }
    }

    @Test("Every error code has its name and its retry advice, and an unknown one survives")
    func codes() async throws {
        let rows = Self.codes.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.count == 65)
        for row in rows {
            let code = try #require(Int64(row[0]))
            let found = try await Self.ask(CannedApple(.error(code, "Words of Apple.")))
            let refusal = ServerAPIRefusal(
                code: ServerAPIErrorCode(rawValue: code), message: "Words of Apple.", status: Int(code / 10_000))
            #expect(found == .refused(refusal))
            #expect((found?.code?.name ?? "-") == row[1])
            let advice: RetryAdvice = ["never": .never, "soon": .soon, "late": .late][row[2]] ?? .never
            #expect(found?.retry == advice, "\(code)")
            #expect(found?.isRetryable == (row[2] != "never"), "\(code)")
            #expect(found?.retryAfter == nil)
            #expect(found?.sentence.en.isEmpty == false && found?.sentence.zh.isEmpty == false)
        }
        #expect(ServerAPIErrorCode.rateLimitExceeded.name == "RateLimitExceeded")
        #expect(ServerAPIErrorCode.rateLimitExceeded.retry == .soon)
    }

    @Test(
        "The codes equal those of the fact sheet",
        .enabled(if: SharedFacts.arePresent, "../shared/facts is not beside the repository"))
    func factSheet() throws {
        let sheet = SharedFacts.directory.appendingPathComponent("server-api.md")
        let text = try String(contentsOf: sheet, encoding: .utf8)
        let section = try #require(
            text.components(separatedBy: "## 6.").last?.components(separatedBy: "Retention").first)
        let cells = section.split(separator: "\n").filter { $0.hasPrefix("|") }
            .flatMap { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        var seen = 0
        for (cell, name) in zip(cells, cells.dropFirst()) {
            guard let code = Int64(cell), code != 4_000_209 else { continue }
            seen += 1
            let word = name.prefix { $0.isLetter }
            #expect(ServerAPIErrorCode(rawValue: code).name == String(word), "\(code)")
        }
        #expect(seen >= 60)
    }

    private static let page = "<html><body>Service Unavailable</body></html>"

    @Test(
        "Responses not from Apple are ignored and retried, and say nothing about the purchase (P2, P11, U7)",
        arguments: [
            (AppleResponse.text(page), UnreadableResponse.Reason.html),
            (.text(page, status: 503), .html),
            (.text(page, status: 404), .html),
            (.text(page, type: nil), .html),
            (.text(page, type: "application/json"), .html),
            (.text("Bad Gateway", status: 502, type: "text/plain"), .contentType),
            (.text(#"{"signedTransactionInfo":"a"}"#, type: "text/plain"), .contentType),
            (.empty, .empty),
            (.text(" \r\n", type: "application/json"), .empty),
            (.text("", status: 404, type: nil), .empty),
            (.text("", status: 500, type: nil), .empty),
            (.text("", status: 302, type: nil), .redirect),
            (.text(page, status: 301), .redirect),
            (.text("", status: 204, type: nil), .status),
            (.json(["signedTransactionInfo": "a"], status: 202), .status),
            (.json(["signedTransactionInfo": "a"], status: 206), .status),
            (.json(["message": "no"], status: 404), .status),
            (.json(["errorCode": "4040010"], status: 404), .status),
            (.json([:], status: 503), .status),
            (.json(["errorCode": 4_040_010], status: 500), .contradiction),
            (.json(["errorCode": 404], status: 404), .contradiction),
            (.json(["errorCode": 4_040_010], status: 200), .malformed),
            (.json(["signedTransactionInfo": 1]), .malformed),
            (.json([:]), .malformed),
            (.json(["signedTransactionInfo": .null]), .malformed),
            (.text(#"["signedTransactionInfo"]"#, type: "application/json"), .malformed),
            (.text(#"{"signedTransactionInfo":"a""#, type: "application/json"), .malformed),
            (.text(#"{"signedTransactionInfo":"a"}x"#, type: "application/json"), .malformed),
            (.text("{\"signedTransactionInfo\":\"\u{1}\"}", type: "application/json"), .malformed),
            (.text("not json", status: 400, type: "application/json"), .malformed),
            (.text("not json", status: 500, type: nil), .malformed),
        ])
    func unreadable(_ answer: AppleResponse, _ reason: UnreadableResponse.Reason) async throws {
        let found = try await Self.ask(CannedApple(answer))
        guard case .unreadable(let unreadable) = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(unreadable.reason == reason)
        #expect(unreadable.status == answer.status)
        #expect(found?.isRetryable == true)
        #expect(found?.code == nil)
    }

    @Test("JSON is accepted with a charset, as a +json type, and without any type")
    func contentTypes() async throws {
        for type in ["application/json", "Application/JSON; charset=utf-8", "application/problem+json", nil] {
            let apple = CannedApple(.text(#"{"signedTransactionInfo":"a.b.c","new":[{}]}"#, type: type))
            let answered = try await apple.api().transactionInfo(Self.id)
            #expect(answered == EnvironmentResult(SignedTransaction(jws: "a.b.c"), from: .production))
        }
    }

    @Test("A success without content must have an empty body: a page in its place is an error")
    func emptySuccess() async throws {
        let rows: [(AppleResponse, isDone: Bool)] = [
            (.empty, true), (.text("\n", type: nil), true), (.json([:]), true), (.text(Self.page), false),
            (.text("ok", type: "text/plain"), false), (.text("", status: 202, type: nil), false),
        ]
        for (answer, isDone) in rows {
            let api = try CannedApple(answer).api()
            let found = await thrownError { () throws(ServerAPIError) in try await api.finish(Self.id) }
            #expect((found == nil) == isDone)
            #expect(found?.isRetryable ?? true)
        }
        let information = ConsumptionInformation(hasConsent: true, delivery: .delivered, hadSample: false)
        let done = try await CannedApple(AppleResponse(status: 202)).api().sendConsumption(information, of: Self.id)
        #expect(done == .production)
        let portal = try CannedApple(.empty).api()
        let found = await thrownError { () throws(ServerAPIError) in
            try await portal.sendConsumption(information, of: Self.id)
        }
        #expect(found?.isRetryable == true, "Apple says 202 here, a portal says 200")
    }

    @Test("An outage is returned with its reason, and an oversized answer is an outage")
    func outages() async throws {
        for reason in [
            AppleConnectionError.Reason.unreachable, .timedOut, .connectionLost, .responseTooLarge, .stopped,
        ] {
            let apple = CannedApple { _ throws(AppleConnectionError) in throw AppleConnectionError(reason, "x") }
            let found = try await Self.ask(apple)
            #expect(found == .outage(AppleConnectionError(reason, "x")))
            #expect(found?.isRetryable == true && found?.retryAfter == nil)
        }
        let long = #"{"signedTransactionInfo":"\#(String(repeating: "a", count: 1 << 20))"}"#
        let found = try await Self.ask(CannedApple(.text(long, type: "application/json")))
        guard case .outage(let outage) = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(outage.reason == .responseTooLarge)
    }

    @Test("401 is final, and its message names in both languages what to check")
    func unauthorized() async throws {
        for answer in [AppleResponse.text("", status: 401, type: nil), .text("Unauthenticated", status: 401)] {
            let apple = CannedApple(answer)
            let api = try apple.api()
            let found = await thrownError { () throws(ServerAPIError) in try await api.transactionInfo(Self.id) }
            #expect(found == .unauthorized(.production))
            #expect(found?.isRetryable == false)
            #expect(apple.asked.count == 1)
            let sentence = try #require(found?.sentence)
            for word in ["key id", "issuer id", "bundle id", "clock"] { #expect(sentence.en.contains(word)) }
            for word in ["Key ID", "Issuer ID", "Bundle ID", "时钟"] { #expect(sentence.zh.contains(word)) }
        }
    }

    @Test(
        "Retry-After is read in Apple's format and in HTTP's, and limited to an hour",
        arguments: [
            ("1748736030000", 30_000), (" 1748736030000 ", 30_000), ("1748736030", 30_000), ("30", 30_000),
            ("Sun, 01 Jun 2025 00:00:30 GMT", 30_000), ("0", 1_000), ("1748735000000", 1_000), ("1748735000", 1_000),
            ("Sat, 31 May 2025 00:00:00 GMT", 1_000), ("1848736030000", 3_600_000), ("86400", 3_600_000),
            ("9223372036854775807", 3_600_000), ("Sun, 01 Jun 2125 00:00:00 GMT", 3_600_000),
        ] as [(String, Int64?)]
            + ["", "-5", "soon", "1e9", "99999999999999999999", "Sun, 31 Jun 2025 00:00:00 GMT", "Sunday, 01-Jun-25"]
            .map { ($0, nil) })
    func retryAfter(_ text: String, _ milliseconds: Int64?) async throws {
        let answer = AppleResponse(
            status: 429, headers: [.init("retry-after", text), .init("Content-Type", "application/json")],
            body: Array(#"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#.utf8))
        let found = try await Self.ask(CannedApple(answer))
        let until = milliseconds.map { TestAuthority.today.adding(milliseconds: $0) }
        #expect(found == .rateLimited(until: until))
        #expect(found?.retryAfter == until)
        #expect(found?.isRetryable == true)
    }

    @Test("A long message is truncated, and a body of another kind in its place is ignored")
    func messages() async throws {
        let found = try await Self.ask(CannedApple(.error(4_040_001, String(repeating: "长", count: 10_000))))
        guard case .refused(let refusal) = found else { throw Missing() }
        #expect(refusal.message.count == 500)
        let odd = try await Self.ask(
            CannedApple(.json(["errorCode": 4_040_001, "errorMessage": ["a"]], status: 404)))
        #expect(odd?.code == .accountNotFound)
    }

    private struct Missing: Error {}

    @Test("Every kind of fault has a code, a sentence in two languages, and states whether a retry may succeed")
    func kinds() {
        let instant = TestAuthority.today
        let rows: [(ServerAPIError, String, Bool)] = [
            (.refused(ServerAPIRefusal(code: .invalidSort, message: "", status: 400)), "refused", false),
            (.unauthorized(.sandbox), "unauthorized", false), (.rateLimited(until: nil), "rate_limited", true),
            (.rateLimited(until: instant), "rate_limited", true), (.overBudget(until: instant), "over_budget", true),
            (.outage(AppleConnectionError(.timedOut)), "outage", true),
            (.unreadable(UnreadableResponse(.html, status: 200)), "unreadable", true),
            (.invalid(InvalidRequestError("a", .missing)), "invalid_request", false),
            (.signing(SigningError("a")), "signing", false),
        ]
        for (error, kind, isRetryable) in rows {
            #expect(error.kind == kind)
            #expect(error.isRetryable == isRetryable)
            #expect(!error.sentence.en.isEmpty && error.sentence.en.utf8.allSatisfy { $0 < 0x80 })
            #expect(error.sentence.zh.unicodeScalars.contains { (0x4E00...0x9FFF).contains($0.value) })
        }
        #expect(ServerAPIError.rateLimited(until: instant).retryAfter == instant)
        #expect(ServerAPIError.overBudget(until: instant).retryAfter == instant)
    }

    private static let small = #"{"data":[{"lastTransactions":[{"originalTransactionId":"1","status":1}]}]}"#

    @Test("A truncated or altered answer is read or refused, and never stops the program")
    func bentAnswers() async throws {
        var random = SeededRandom(state: 20_260_101)
        var read = 0
        for _ in 0..<4_000 {
            var bytes = Array(Self.small.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes.randomElement(using: &random) ?? 0, at: place)
                default: bytes.removeSubrange(place...)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let api = try CannedApple(AppleResponse(status: 200, body: bytes)).api(environments: [.production])
            let found = await thrownError { () throws(ServerAPIError) in
                try await api.subscriptionStatuses(of: Self.id)
            }
            read += found == nil ? 1 : 0
            #expect(found?.isRetryable ?? true)
        }
        #expect((10...2_000).contains(read))
    }

    @Test("A megabyte of brackets, braces or commas costs no more than reading it")
    func heavyNonsense() async throws {
        let pieces = ["{},", "[", "{\"a\":", "\"\",", "1e9,", "\\u0000", "{\"a\":1,\"a\":1},"]
        for piece in pieces {
            let text = #"{"data":["# + String(repeating: piece, count: (1 << 20) / piece.utf8.count) + "{}]}"
            let api = try CannedApple(.text(text, type: "application/json")).api(environments: [.production])
            let start = ContinuousClock.now
            let found = await thrownError { () throws(ServerAPIError) in
                try await api.subscriptionStatuses(of: Self.id)
            }
            guard case .unreadable(let answer) = found else {
                Issue.record("\(piece): \(String(describing: found))")
                continue
            }
            #expect(answer.reason == .malformed)
            #expect(ContinuousClock.now - start < .seconds(10), "\(piece)")
        }
    }
}
