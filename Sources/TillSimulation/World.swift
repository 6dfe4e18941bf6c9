import Foundation
import TillAppStore
import TillBilling
import TillClient
import TillCrypto
import TillHTTP
import TillLedger
import TillServer

/// A whole world made from one seed: Apple, the server, phones with the client kit, their users, an attacker, and
/// faults. All of it is the real code, on one thread, in virtual time.
final class SimulatedWorld: @unchecked Sendable {
    let plan: SimulationPlan
    let parts: SimulationContext
    let groundTruth: GroundTruth
    let process: SimulatedProcess
    private let keys: StoreKeys
    private let databases: EmptyDatabases
    let folder: URL
    let terms: ShopTerms
    let thefts: TheftLog
    let stolen = StolenData()
    var random: SeededRandom
    private(set) var auditor: Auditor?
    private(set) var owners: [PhoneUser] = []
    private(set) var shoppers: [Shopper] = []
    private var users: [String] = []
    private let receiver: WebhookReceiver
    private(set) var server: ServerHost?
    private(set) var mallory: Mallory?
    /// Notifications by content, and whether each is never sent.
    private var lostNotifications: [UInt64: Bool] = [:]
    private var lateness: SeededRandom
    private(set) var hasFaults = true
    private var isOver = false
    /// The number of paid transactions at Apple.
    private(set) var paid = 0
    /// A digest of the final ledger.
    private(set) var digest: UInt64 = 0
    /// Why the world could not be created or completed.
    private(set) var fault: String?

    /// 2026-01-05T00:00:00Z, a Monday.
    static let start = Instant(milliseconds: 1_767_571_200_000)
    private static let day: Int64 = 86_400_000
    /// The fault phase ends after this many days at the latest, even if purchases are left.
    private static let faultDays: Int64 = 21
    /// Webhooks are given up after three days. By then the server has requested what Apple would still repeat.
    private static let quietDays: Int64 = 4
    /// Several periods of a week, and a grace period.
    private static let rightsDays: Int64 = 24

    /// - Parameter folder: for the receipts of emulated devices.
    init(_ plan: SimulationPlan, keys: StoreKeys, databases: EmptyDatabases, folder: URL) {
        self.plan = plan
        self.keys = keys
        self.databases = databases
        self.folder = folder
        terms = ShopTerms(plan)
        let scheduler = SimulatedScheduler(
            seed: plan.seed, start: Self.start, planted: plan.planted)
        let log = EventLog(isKept: plan.keepsLog) { scheduler.now }
        let faults = FaultLog(seed: plan.seed, rates: plan.rates, limit: plan.faultLimit) { kind, detail in
            log.record("fault", "\(kind.rawValue) \(detail)")
        }
        thefts = TheftLog { kind, detail in log.record("thief", "\(kind.rawValue) \(detail)") }
        parts = SimulationContext(seed: plan.seed, scheduler: scheduler, faults: faults, log: log)
        groundTruth = GroundTruth(parts)
        // These worlds last twice as long as others.
        receiver = plan.hasFamilies ? WebhookReceiver(parts, longestOutage: Self.day / 2) : WebhookReceiver(parts)
        process = SimulatedProcess("world", on: scheduler)
        random = SeededRandom(seed: plan.seed, stream: "world")
        lateness = SeededRandom(seed: plan.seed, stream: "lateness")
    }

    /// More steps than any world needs: reaching it means an endless loop.
    private static let stepLimit = 60_000_000

    /// Runs the whole world.
    func run() {
        SeededSignatures.begin(seed: plan.seed)
        process.spawn { [self] in
            do {
                try await live()
            } catch {
                fault = "\(error)"
            }
            isOver = true
        }
        while !isOver {
            guard parts.scheduler.steps < Self.stepLimit else { return end("no end after \(Self.stepLimit) steps") }
            guard parts.scheduler.step() else { return end("deadlock: every task waits") }
        }
    }

    private func end(_ cause: String) { fault = "\(cause), at \(parts.scheduler.now.rfc3339)" }

    /// Purchases that were started.
    var begun: Int { owners.reduce(0) { $0 + $1.begun } + shoppers.reduce(0) { $0 + $1.begun } }

    // MARK: Phases

    private func live() async throws {
        let apple = try await AppleHost.create(
            parts, keys: keys, files: databases.store,
            watch: AppleHost.Watch(
                isBought: { [groundTruth] in groundTruth.note($1, to: $0) },
                isFinished: { [self] id in await self.auditor?.check(finished: id, self.server?.ledger) }),
            send: notificationLine())
        let auditor = Auditor(parts, groundTruth, apple, terms: terms)
        self.auditor = auditor
        apple.start()
        _ = await apple.act(.put, "/emulator/notifications", ["url": "http://server.simulated/v1/notifications/apple"])
        let server = try await makeServer(for: apple, auditor)
        self.server = server
        server.start()
        let accounts = (1...(2 + random.below(4))).map { "account\($0)" }
        if plan.hasFamilies, random.chance(0.6) {
            _ = await apple.act(.put, "/emulator/subscriptions/grace", ["days": 16])
        }
        for account in accounts { _ = await apple.act(.put, "/emulator/accounts/\(account)", [:]) }
        users = makeUsers()
        owners = makeOwners(accounts, users: users, apple, server)
        let backend = Backend(
            parts, Link("backend-server", parts) { server.end }, users: users, isKeyless: terms.isKeyless)
        shoppers = makeShoppers(apple, server, backend, auditor)
        let mallory = try Mallory(parts, Link("mallory-server", parts) { server.end }, apple, keys: keys)
        self.mallory = mallory
        // Without a key, only a phone can finish purchases made in Apple's own shop.
        let buying =
            terms.isKeyless ? accounts.filter { name in owners.contains { $0.phone.account == name } } : accounts
        let appleCustomers = AppleCustomers(apple, groundTruth, accounts: buying, hasFamilies: plan.hasFamilies, parts)
        let faultSchedule = FaultSchedule(server, apple, parts)
        startThieves(apple, server, backend, auditor, keys: keys)
        await runWithFaults(server, mallory, appleCustomers, faultSchedule, backend)
        await runWithoutFaults(apple, appleCustomers, faultSchedule, backend)
        if plan.hasFamilies {
            await watchRights(auditor, apple, appleCustomers, backend)
            _ = await becomeStill(apple, backend)
        }
        await server.closeRetiredLedgers()
        if !terms.isKeyless { await compare(server, apple, auditor, backend) }
        if let ledger = server.ledger {
            await auditor.check(ledger, backend, receiver)
            await auditor.check(sealsOf: server, key: SimulatedShop.sealKey(of: plan.seed))
        } else {
            fault = "the server does not start"
        }
        for owner in owners { auditor.check(owner) }
        if plan.keepsLog, let ledger = server.ledger {
            parts.log.complete(with: (try? await ledger.read { try LedgerLog.lines($0) }) ?? [])
        }
        let sold = try await apple.transactions()
        paid = sold.filter(\.isPaid).count
        let snapshot =
            try await server.ledger?.read { try LedgerSnapshot($0).entries.values.map { "\($0)" }.sorted() } ?? []
        digest = Fingerprint.of("\(snapshot) \(parts.scheduler.steps) \(parts.scheduler.now)".utf8)
        await server.close()
        await apple.close()
    }

    /// The connection for Apple's notifications to the server.
    private func notificationLine() -> @Sendable (SimulatedProcess) -> HTTPSend {
        let link = Link("apple-server", parts) { [self] in self.server?.end }
        link.timeout = 10_000
        return { [self] sender in
            { [self] (url, request) async throws(HTTPError) in
                let request = Self.request(request, to: url)
                let payload = Fingerprint.of(request.body)
                // A server without a key can't request a lost notification.
                let isLost =
                    lostNotifications[payload]
                    ?? (!terms.isKeyless && parts.faults.occurs(.notificationLost, at: "apple"))
                lostNotifications[payload] = isLost
                mallory?.observe(request)
                if isLost { throw HTTPError(.cannotConnect, "it is never sent") }
                // Apple's notifications may be late; without a key, this gives a thief time before the receipt's hold
                // ends.
                if plan.hasThieves, terms.isKeyless, lateness.chance(0.3) {
                    await parts.scheduler.pause(lateness.between(60_000, 7_200_000))
                }
                return try await link.send(request, from: sender)
            }
        }
    }

    private func makeServer(for apple: AppleHost, _ auditor: Auditor) async throws -> ServerHost {
        let answer = await apple.act(.get, "/emulator/api-key")
        guard case .object(let key)? = answer, case .string(let issuer)? = key["issuerId"],
            case .string(let id)? = key["keyId"], case .string(let pem)? = key["privateKey"]
        else { throw SimulationError("the store has no key") }
        var configuration = ServerConfiguration(
            catalog: SimulatedShop.catalog,
            apple: AppleTrust(
                roots: [apple.emulator.issuer.rootCertificate], bundleID: SimulatedShop.bundleID,
                appAppleID: apple.emulator.configuration.app.appleID, environments: [.production]),
            secretKeys: [SecretKey(id: "backend", sha256: Digest.sha256.hash(SimulatedShop.secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: SimulatedShop.tokenSecret))])
        // Both orders of delivery keep the promise.
        if random.chance(0.35) {
            configuration.delivery.order = .saveThenFinish
            auditor.savesFirst = true
        }
        // Virtual hours pass between two proofs; the long lifetime still verifies a chain once per run of the server.
        configuration.apple.chainLifetime = 30 * Self.day
        configuration.webhooks = try Self.webhooks()
        configuration.sealKey = SimulatedShop.sealKey(of: plan.seed)
        configuration.reconciliation.interval = 2 * Self.day
        // The server's jobs run this far apart here.
        configuration.reconciliation.gap = 2 * 3_600_000
        if !terms.isKeyless {
            configuration.inAppPurchaseKey = try InAppPurchaseKey(
                issuerID: issuer, keyID: id, privateKey: PrivateKey(pem: pem))
        }
        configuration.restore.policy = terms.restore
        // Apple's notification ends the hold, and a server may be down for days before it receives it.
        if terms.isKeyless { configuration.receipts = ReceiptTerms(policy: .provisional, holdHours: 168) }
        let link = Link("server-apple", parts) { apple.end }
        link.timeout = 15_000
        let receiver = receiver
        let web = Link("server-receiver", parts) { receiver.end }
        let terms = ServerHost.Terms(
            configuration: configuration, key: configuration.inAppPurchaseKey,
            apple: { process in
                { (url, request) async throws(HTTPError) in
                    try await link.send(Self.request(request, to: url), from: process)
                }
            },
            web: { process in
                { (url, request) async throws(HTTPError) in
                    try await web.send(Self.request(request, to: url), from: process)
                }
            })
        return ServerHost(
            parts, terms, files: databases.ledger(hasSeveralWriters: parts.hasSeveralWriters),
            watch: ServerHost.Watch(
                isOpened: { ledger in
                    await auditor.checkFinishes(ledger)
                    await auditor.look(ledger)
                }, isWritten: { await auditor.glance($0, events: $1) }))
    }

    private static func webhooks() throws -> WebhookSettings {
        guard let secret = WebhookSecret("whsec_" + Base64.encode(SimulatedShop.webhookSecret)) else {
            throw SimulationError("the webhook secret is none")
        }
        let url = try WebhookURL(WebhookReceiver.url, allowsPlain: true)
        var endpoint = WebhookEndpoint(id: "backend", url: url, secrets: [secret])
        endpoint.start = start
        var settings = WebhookSettings()
        settings.endpoints = [endpoint]
        settings.allowsPrivate = true
        return settings
    }

    /// Compares the server's ledger with all of Apple's histories, while nothing is in transit.
    private func compare(_ server: ServerHost, _ apple: AppleHost, _ auditor: Auditor, _ backend: Backend) async {
        var found: Result<LedgerComparison, any Error>?
        // A subscription may renew during the comparison; the result is then discarded.
        for _ in 0..<10 {
            let still = await becomeStill(apple, backend)
            guard let process = server.process, let running = server.server else { return }
            found = await process.ask {
                do { return .success(try await running.ledger.compareWithApple(since: Self.start)) } catch {
                    return .failure(error)
                }
            }
            if await lastChange(apple).map({ $0 <= still }) ?? true { break }
        }
        switch found {
        case .success(let comparison): auditor.check(comparison)
        case .failure(let error):
            auditor.complain(.stuck, "the ledger can't be compared: \(error)", about: ["comparison"])
        case nil: auditor.complain(.stuck, "the server ended while it compared", about: ["comparison"])
        }
    }

    private func runWithFaults(
        _ server: ServerHost, _ mallory: Mallory, _ appleCustomers: AppleCustomers, _ faultSchedule: FaultSchedule,
        _ backend: Backend
    ) async {
        let isRunning: @Sendable () -> Bool = { [self] in hasFaults }
        process.spawn { await faultSchedule.run(while: isRunning) }
        process.spawn { await appleCustomers.live(while: isRunning) }
        process.spawn { await mallory.live(while: isRunning) }
        process.spawn { await backend.live(while: isRunning) }
        process.spawn { [receiver] in await receiver.live(while: isRunning) }
        process.spawn { [self] in
            while hasFaults {
                await parts.scheduler.pause(6 * 3_600_000)
                await server.closeRetiredLedgers()
                if let ledger = server.ledger { await auditor?.look(ledger) }
            }
        }
        let end = parts.scheduler.now.adding(milliseconds: Self.faultDays * Self.day)
        await withTaskGroup(of: Bool.self) { group in
            for owner in owners {
                group.addTask {
                    await owner.live()
                    return false
                }
            }
            for shopper in shoppers {
                group.addTask {
                    await shopper.live()
                    return false
                }
            }
            group.addTask { [self] in
                while parts.scheduler.now < end, hasFaults { await parts.scheduler.pause(3_600_000) }
                return true
            }
            // Waits for all owners and shoppers, or for the end of the fault phase.
            var left = owners.count + shoppers.count
            while left > 0, await group.next() == false { left -= 1 }
            hasFaults = false
            group.cancelAll()
        }
    }

    private func runWithoutFaults(
        _ apple: AppleHost, _ appleCustomers: AppleCustomers, _ faultSchedule: FaultSchedule, _ backend: Backend
    ) async {
        parts.faults.stop()
        parts.log.record("world", "all faults are over")
        faultSchedule.clear()
        receiver.comeBack()
        await appleCustomers.finishPurchases()
        await finishAllPurchases()
        await parts.scheduler.pause(Self.quietDays * Self.day)
        await appleCustomers.finishPurchases()
        await finishAllPurchases()
        await parts.scheduler.pause(Self.day / 4)
        await backend.emptyQuarantine(groundTruth, apple)
        await parts.scheduler.pause(Self.day / 4)
        await finishAllPurchases()
    }

    /// Checks rights without faults. At first Apple refunds and customers buy and change subscriptions; then they only
    /// renew. At every check each payer has the right, and no other customer does.
    private func watchRights(
        _ auditor: Auditor, _ apple: AppleHost, _ appleCustomers: AppleCustomers, _ backend: Backend
    ) async {
        for step in 0..<(Self.rightsDays * 4) {
            if step < Self.rightsDays * 2 {
                await appleCustomers.changeDecisions()
                if random.chance(0.2) { await random.pick(shoppers).takeStep() }
            }
            await parts.scheduler.pause(Self.day / 4)
            await finishAllPurchases()
            // Order numbers can't distinguish customers who share the mail.
            await backend.emptyQuarantine(groundTruth, apple, byPerson: true)
            await auditor.check(rightsOf: shoppers.map(\.user), backend)
        }
    }

    private func finishAllPurchases() async {
        for owner in owners { await owner.finishPurchases() }
        for shopper in shoppers { await shopper.finishPurchases() }
    }

    /// Waits until nothing has changed for hours, so that all effects of renewals and ends arrived before the checks.
    ///
    /// - Returns: the end of the quiet time.
    private func becomeStill(_ apple: AppleHost, _ backend: Backend) async -> Instant {
        let quiet = Self.day / 8
        for _ in 0..<Self.quietDays * 8 {
            await parts.scheduler.pause(quiet)
            // Later renewals may be waiting, for example one under another customer's order.
            await backend.emptyQuarantine(groundTruth, apple, byPerson: true)
            if await lastChange(apple).map({ $0.adding(milliseconds: quiet) <= parts.scheduler.now }) ?? true { break }
        }
        return parts.scheduler.now
    }

    /// The time of Apple's last sale or refund, or of the server's last event.
    private func lastChange(_ apple: AppleHost) async -> Instant? {
        let sold = (try? await apple.transactions()) ?? []
        let told = try? await server?.ledger?.read { connection in
            try connection.first("SELECT max(at) AS newest FROM outbox", []) {
                Instant(milliseconds: $0.integer("newest"))
            }
        }
        let moments = sold.flatMap { [$0.purchasedAt, $0.revokedAt] } + [told ?? nil]
        return moments.compactMap { $0 }.filter { $0 <= parts.scheduler.now }.max()
    }
}

struct SimulationError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
