import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

/// Till's own client of the App Store Server API against the emulated one: two readings of one document.
@Suite("Our client calls the emulated App Store Server API")
struct ServerAPIClientTests {
    private func world(_ environment: StoreEnvironment) async throws -> EmulatedWorld {
        var configuration = EmulatorConfiguration()
        configuration.environment = environment
        let world = try await EmulatedWorld(configuration)
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        return world
    }

    private func code(_ ask: () async throws(ServerAPIError) -> some Any) async -> ServerAPIErrorCode? {
        do throws(ServerAPIError) {
            _ = try await ask()
            return nil
        } catch {
            return error.code
        }
    }

    @Test(
        "It reads transactions, histories, refunds, statuses, orders",
        arguments: [StoreEnvironment.sandbox, .production])
    func reading(_ environment: StoreEnvironment) async throws {
        let world = try await world(environment)
        let api = try await world.client()
        var ids: [String] = []
        for number in 0..<23 { ids.append(try await world.bought(number % 2 == 0 ? "points60" : "course")) }
        let member = try await world.bought("member.monthly")
        _ = await world.ask(.post, "/emulator/transactions/\(ids[0])/refund", ["percentage": 100_000])
        let id = TransactionID(ids[0])
        #expect(try await api.transactionInfo(id).environment == environment)
        var shown = 0
        for try await page in api.historyPages(of: id) {
            #expect(page.value.bundleID == EmulatedWorld.bundleID)
            #expect(page.value.appAppleID == (environment == .production ? 690_661_663 : nil))
            #expect(page.value.environment == environment.rawValue)
            shown += page.value.transactions.count
        }
        #expect(shown == 24)
        var filter = HistoryFilter()
        filter.kinds = [.nonRenewing]
        filter.order = .descending
        filter.isRevoked = false
        #expect(try await api.history(of: id, filter: filter).value.transactions.count == 11)
        var refunds = 0
        for try await page in api.refundPages(of: id) { refunds += page.value.transactions.count }
        #expect(refunds == 1)
        #expect(try await api.refundHistoryV1(of: id).value.count == 1)
        let statuses = try await api.subscriptionStatuses(of: id, only: [.active]).value
        #expect(statuses.groups.map(\.id) == ["21000001"])
        #expect(statuses.groups.first?.subscriptions.first?.originalTransactionID?.text == member)
        #expect(try await api.subscriptionStatuses(of: id, only: [.expired]).value.groups.isEmpty)
        // Apple answers this for production only; the emulator does in both, so that claims can be rehearsed.
        do {
            let number = try #require(Int64(member))
            let order = try await api.lookUpOrder(OrderNumber(transaction: number).description)
            #expect(order.status == .valid && order.transactions.count == 1)
            #expect(try await api.lookUpOrder("MNOTHING").status == .invalid)
            let foreign = try await world.bought("points60", ["bundleId": "com.example.other"])
            let foreignNumber = try #require(Int64(foreign))
            let other = try await api.lookUpOrder(OrderNumber(transaction: foreignNumber).description)
            #expect(other.status == .invalid && other.transactions.isEmpty)
        }
        await world.remove()
    }

    @Test("It sends test notifications, tokens, finishing and consumption, and reads downloads")
    func writing() async throws {
        let world = try await world(.sandbox)
        let api = try await world.client()
        let points = TransactionID(try await world.bought())
        let member = TransactionID(try await world.bought("member.monthly"))
        try await api.finish(points)
        #expect(await world.ask(.get, "/emulator/transactions/\(points.text)").json["finished"] == true)
        let token = try #require(UniqueID("3f2c1a00-1111-4222-8333-444455556666"))
        try await api.setAppAccountToken(token, on: member, in: .sandbox)
        let subscription = try await world.emulator.store.ask { connection in
            try SubscriptionTable.find(Int64(member.text) ?? 0, connection)
        }
        #expect(subscription?.appAccountToken == token)
        let signed = try await api.transactionInfo(member).value
        #expect(try payload(of: signed.jws)["appAccountToken"]?.string == token.description)
        var information = ConsumptionInformation(
            hasConsent: true, delivery: .delivered, hadSample: false, percentage: 5_000, preference: .decline)
        try await api.sendConsumption(information, of: points)
        information.preference = .grantProrated
        #expect(
            await code { () throws(ServerAPIError) in
                try await api.sendConsumption(information, of: member)
            } == .consumptionPercentageNotAllowed)
        try await api.sendConsumptionV1(ConsumptionInformationV1(hasConsent: true, hadSample: true), of: points)
        let download = try payload(of: try await api.appTransactionInfo(of: points).value.jws)
        #expect(download["bundleId"]?.string == EmulatedWorld.bundleID)
        await world.emulator.sendDueNotifications()
        let test = try await api.requestTestNotification(in: .sandbox)
        await world.emulator.sendDueNotifications()
        let status = try await api.testNotificationStatus(of: test, in: .sandbox)
        #expect(status.attempts.map(\.result) == [.success])
        let query = NotificationQuery(from: world.now.adding(seconds: -5), to: world.now.adding(seconds: 5))
        var notified = 0
        for try await page in api.notificationPages(query, in: .sandbox) { notified += page.value.notifications.count }
        #expect(notified == 3)
        #expect(try await api.lookUpOrder("M").status == .invalid)
        await world.remove()
    }

    @Test("It extends one subscriber's renewal date, and those of all subscribers of a product")
    func extensions() async throws {
        let world = try await world(.sandbox)
        let api = try await world.client()
        let member = TransactionID(try await world.bought("member.monthly"))
        let points = TransactionID(try await world.bought())
        let days = RenewalExtension(days: 3, reason: .outage, requestIdentifier: "mine")
        let before = try await world.emulator.store.ask { connection in
            try SubscriptionTable.find(Int64(member.text) ?? 0, connection)?.expires
        }
        let moved = try await api.extendRenewal(of: member, by: days, in: .sandbox)
        #expect(moved.isSuccess && moved.originalTransactionID == member)
        #expect(try #require(moved.effectiveDate) > #require(before))
        _ = try await api.extendRenewal(of: member, by: days, in: .sandbox)
        #expect(
            await code { () throws(ServerAPIError) in
                try await api.extendRenewal(of: member, by: days, in: .sandbox)
            } == .subscriptionMaxExtension)
        #expect(
            await code { () throws(ServerAPIError) in
                try await api.extendRenewal(of: points, by: days, in: .sandbox)
            } == .originalTransactionIDNotFound)
        let id = try #require(UniqueID("11112222-1111-4222-8333-444455556666"))
        let product = ProductID("\(EmulatedWorld.bundleID).member.monthly")
        let request = MassRenewalExtension(days: 1, reason: .other, product: product, requestIdentifier: id)
        #expect(try await api.extendAllRenewals(by: request, in: .sandbox) == id)
        #expect(try await api.extendAllRenewals(by: request, in: .sandbox) == id)
        world.advance(seconds: 3_600)
        let status = try await api.massExtensionStatus(of: id, product: product, in: .sandbox)
        #expect(status.isComplete)
        #expect(try #require(status.succeededCount) + #require(status.failedCount) == 1)
        await world.remove()
    }

    @Test("After a 429 our client waits until the stated time, and is then served")
    func rateLimit() async throws {
        var configuration = EmulatorConfiguration()
        var quotas = RequestQuotas()
        quotas[.transactionInfo, .sandbox] = RequestQuota(2, per: 3_600_000)
        configuration.rateLimits = quotas
        let world = try await EmulatedWorld(configuration)
        let api = try await world.client()
        let id = TransactionID(try await world.bought())
        for _ in 0..<2 { _ = try await api.transactionInfo(id) }
        do throws(ServerAPIError) {
            _ = try await api.transactionInfo(id)
            Issue.record("it was served")
        } catch {
            guard case .rateLimited(let until?) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(until.milliseconds % 3_600_000 == 0 && until > world.now)
        }
        let refused = world.now
        _ = try await api.retrying(.persistent) { (api) async throws(ServerAPIError) in
            try await api.transactionInfo(id)
        }
        #expect(world.now.seconds / 3_600 == refused.seconds / 3_600 + 1)
        await world.remove()
    }
}
