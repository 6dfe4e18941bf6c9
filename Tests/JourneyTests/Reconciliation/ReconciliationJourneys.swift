import Testing
import TillAppStore
import TillBilling
import TillEmulator
import TillHTTP
import TillLedger
import TillServer

@Suite("Reconciliation recovers lost purchases by itself") struct ReconciliationJourneys {
    /// Three customers whom the server knows, and a week that it missed.
    private static func loseAWeek(_ silent: SilentShop) async throws {
        let known = try await silent.buyAndSubmit("points60", as: "ann")
        _ = try await silent.buyAndSubmit("premium_monthly_auto", as: "ben")
        try await silent.reconcile()
        try await silent.pass(days: 28)
        // The server is unreachable from here on.
        _ = try await silent.buy("points60", as: "ann")
        _ = try await silent.buy("pro", as: "cem")
        try await silent.refund(known)
        try await silent.pass(days: 7)
    }

    @Test(
        "A week away: purchases, renewals and refunds come back, each difference is explained, and both agree (U3)"
    )
    func weekAway() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            try await Self.loseAWeek(silent)
            #expect(try await shop.points(of: "ann") == 60)
            #expect(try await !silent.compare().isEqual)

            let ended = try #require(try await silent.reconciliations.advance())
            #expect(ended.state == .finished && ended.reason == "gap", "\(ended)")
            let found = try await silent.found(by: ended.rowID)
            #expect(found.count(.purchaseMissed) == 3, "points, the right and the renewal: \(found.differences)")
            #expect(found.count(.refundMissed) == 1 && found.count(.notificationMissed) >= 4, "\(found.kinds)")
            #expect(found.counts["late_grants"] == 3)
            for difference in found.differences {
                let sentence = difference.kind.sentence(isDryRun: false)
                #expect(!sentence.en.isEmpty && !sentence.zh.isEmpty)
            }
            #expect(try await shop.points(of: "ann") == 60, "one refunded, one more bought")
            #expect(try await shop.rights(of: "ben").count == 1)
            #expect(try await shop.rights(of: "cem").count == 1)

            let comparison = try await silent.compare()
            #expect(comparison.isEqual && comparison.isComplete, "\(comparison)")
            #expect(Set(try await shop.decisions().map(\.source)) == ["app", "reconciliation"])

            // The next day nothing is new, which one or two requests for each customer show.
            try await silent.pass(days: 1)
            let before = silent.line.asked.count
            #expect(try await silent.reconciliations.advance()?.reason == "gap")
            #expect(silent.line.asked.count - before <= 10, "\(silent.line.asked.dropFirst(before))")
            #expect(try await silent.compare().isEqual)
        }
    }

    @Test("Cut off after every single answer, a run continues where it was, and repeats hardly any request (U3, U7)")
    func cutOffEverywhere() async throws {
        var whole = 0
        try await SilentShop.open { silent in
            try await Self.loseAWeek(silent)
            let before = silent.line.asked.count
            _ = try await silent.reconciliations.advance()
            whole = silent.line.asked.count - before
        }
        #expect(whole > 8)
        try await SilentShop.open { silent in
            try await Self.loseAWeek(silent)
            var (answered, cuts) = (0, 0)
            var run: ReconciliationTable.Run?
            var progress: ReconciliationTable.Progress?
            repeat {
                // The status of a subscription is requested in one step with its customer's last page.
                let most = run != nil && run?.progress == progress ? 2 : 1
                progress = run?.progress
                silent.line.answersLeft = most
                run = try await silent.reconciliations.advance()
                answered += most - (silent.line.answersLeft ?? 0)
                cuts += 1
                #expect(run?.state == .finished || run?.wait != nil)
                let asked = silent.line.asked.count
                if run?.state == .running { _ = try await silent.reconciliations.advance() }
                #expect(silent.line.asked.count == asked, "it waits until it is time")
                silent.shop.time.advance(seconds: 3_700)
            } while run?.state == .running && cuts < 60
            silent.line.answersLeft = nil
            #expect(run?.state == .finished, "\(String(describing: run))")
            #expect(answered <= whole + 2, "\(answered) answers instead of \(whole)")
            #expect(try await silent.compare().isEqual)
        }
    }

    @Test("429 with a time: no request before it, the run states why it waits, and continues (facts/server-api §7)")
    func rateLimited() async throws {
        try await SilentShop.open { silent in
            _ = try await silent.buy("points60", as: "ann")
            let until = silent.shop.time.now.adding(seconds: 1_800)
            silent.line.answer = AppleResponse(
                status: 429,
                headers: [
                    .init("Content-Type", "application/json"), .init("Retry-After", String(until.milliseconds)),
                ], body: Array(#"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#.utf8))
            let waiting = try #require(try await silent.reconciliations.advance())
            #expect(waiting.state == .running && waiting.wait?.until == until, "\(waiting)")
            #expect(waiting.wait?.reason.hasPrefix("rate_limited: ") == true)
            silent.line.answer = nil
            let asked = silent.line.asked.count
            #expect(try await silent.reconciliations.advance()?.wait != nil)
            #expect(silent.line.asked.count == asked)
            silent.shop.time.advance(seconds: 1_801)
            #expect(try await silent.reconciliations.advance()?.state == .finished)
            #expect(try await silent.shop.points(of: "ann") == 60)
        }
    }

    @Test("A comparison finds what a run would change, and changes no row")
    func dryRun() async throws {
        try await SilentShop.open { silent in
            try await Self.loseAWeek(silent)
            let before = try await silent.digest()
            let comparison = try await silent.compare()
            #expect(try await silent.digest() == before)
            #expect(comparison.driftCount == comparison.differenceCount && comparison.driftCount > 6)
            let ended = try #require(try await silent.reconciliations.advance())
            let found = try await silent.found(by: ended.rowID)
            #expect(try await silent.digest() != before)
            let reported = { (difference: Difference) in
                "\(difference.kind) \(difference.transactionID?.text ?? "") \(difference.was)"
            }
            let purchases = { (all: [Difference]) in
                Set(all.filter { $0.kind != .renewalDiffers }.map(reported))
            }
            #expect(purchases(comparison.differences) == purchases(found.differences))
        }
    }

    @Test("A refund without a notification is found in the histories (U3, U5)")
    func refundWithoutNotification() async throws {
        try await SilentShop.open { silent in
            let payment = try await silent.buyAndSubmit("points60", as: "ann")
            try await silent.refund(payment)
            silent.shop.time.advance(seconds: 60)
            // Notifications from now on: there are none.
            let found = try await silent.reconcile(since: silent.shop.time.now)
            #expect(found.counts["notifications"] == nil && found.kinds == ["refund_missed"], "\(found)")
            #expect(try await silent.shop.points(of: "ann") == 0)
        }
    }

    @Test("An unclaimed purchase is checked again, and is granted when a token has come (U1)")
    func tokenThatCameLater() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let payment = try await silent.buy("points60", as: "ann", withToken: false)
            let first = try await silent.reconcile()
            #expect(first.count(.purchaseUnattributed) == 1 && first.counts["requested_again"] == 1, "\(first)")
            #expect(try await shop.grantCount() == 0)

            let order = try await shop.openOrder(CloudShop.prefix + "points60", as: "ann")
            try await silent.api.setAppAccountToken(order, on: TransactionID(payment.id), in: .sandbox)
            let second = try await silent.reconcile()
            #expect(second.count(.quarantineResolved) == 1, "\(second)")
            #expect(try await shop.points(of: "ann") == 60)
        }
    }

    @Test("An unpaid order is closed after a month, not before; if it is paid after all, it is granted (T3)")
    func abandonedOrder() async throws {
        try await SilentShop.open { silent in
            let shop = silent.shop
            let product = CloudShop.prefix + "points60"
            let old = try await shop.openOrder(product, as: "ann")
            try await silent.pass(days: 25)
            let young = try await shop.openOrder(product, as: "ann")
            try await silent.pass(days: 6)
            let found = try await silent.reconcile()
            #expect(found.kinds == ["order_closed"] && found.differences[0].orderID == old, "\(found)")
            #expect(try await shop.status(of: old) == "cancelled")
            #expect(try await shop.status(of: young) == "prepared")
            #expect(try await silent.reconcile().kinds.isEmpty)

            let payment = try await shop.pay(product, token: old, account: "ann")
            #expect(try await shop.submit(payment.signed, as: .user("ann"))["outcome"].text == "granted")
            #expect(try await shop.status(of: old) == "completed")
        }
    }

    @Test("Larger shops are read in several runs: customers checked longest ago come first")
    func rotation() async throws {
        let line = AppleProxy()
        let change = { (configuration: inout ServerConfiguration) in
            configuration.catalog = CloudShop.catalog
            configuration.reconciliation.customersPerRun = 2
            configuration.reconciliation.refundsPerRun = 1
        }
        try await Shop.open(change: change, line: line) { shop in
            try await CloudShop.stock(shop)
            let api = try await line.serverAPI(of: shop.emulator, time: shop.time)
            let silent = SilentShop(shop: shop, line: line, api: api)
            for user in ["ann", "ben", "cem", "dan", "eve"] { _ = try await silent.buyAndSubmit("points60", as: user) }
            var asked: [Set<String>] = []
            for _ in 0..<3 {
                let before = line.asked.count
                #expect(try await silent.reconcile().counts["customers"] == 2)
                asked.append(Set(line.asked.dropFirst(before).filter { $0.contains("/v2/history/") }))
            }
            #expect(asked.allSatisfy { $0.count == 2 } && asked[0].isDisjoint(with: asked[1]))
            #expect(asked.reduce(into: Set()) { $0.formUnion($1.map { $0.prefix { $0 != "?" } }) }.count == 5)
        }
    }
}
