import Foundation
import Testing
import TillAppStore
import TillBilling
import TillClient
import TillCrypto
import TillHTTP

/// The client kit's real rooms between the emulated App Store and the real server.
@Suite("From the device's disk to the wallet") struct ClientJourneys {
    @Test(
        "The order is on the device's disk before the payment is queued, and completed at the end (L5, L8)",
        arguments: Reach.allCases)
    func order(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            try await Phone.open(shop, user: "ann") { phone in
                let entry = try await phone.purchase.prepare(
                    ProductID(Shop.points60), price: Money(amount: 600, currency: Currency("CNY")))
                let onDisk = try await phone.journalOnDisk()
                #expect(onDisk.map(\.id) == [entry.id])
                #expect(onDisk.first?.status == .prepared)
                #expect(onDisk.first?.price == Money(amount: 600, currency: Currency("CNY")))
                #expect(onDisk.first?.userID == UserID("ann"))
                #expect(try await shop.status(of: entry.id) == "prepared")

                let payment = try await shop.pay(token: entry.id, account: "ann")
                let transaction = try #require(try await phone.unfinished().first)
                #expect(transaction.id.text == payment.id && transaction.token == entry.id)
                guard case .completed(let reply) = await phone.submit(transaction) else {
                    Issue.record("the purchase was not completed")
                    return
                }
                #expect(reply.outcome == .granted)
                #expect(try await phone.journalOnDisk().first?.status == .completed)
                #expect(try await shop.points(of: "ann") == 60)
            }
        }
    }

    @Test("The transaction leaves the store's queue only after the server's word (O5, T1)")
    func finish() async throws {
        try await Shop.open { shop in
            try await Phone.open(shop, user: "ann") { phone in
                let entry = try await phone.purchase.prepare(ProductID(Shop.points60), price: nil)
                _ = try await shop.pay(token: entry.id, account: "ann")
                let transaction = try #require(try await phone.unfinished().first)
                phone.isOffline.withLock { $0 = true }
                guard case .willArrive = await phone.submit(transaction) else {
                    Issue.record("without an answer nothing is decided")
                    return
                }
                #expect(try await phone.unfinished().count == 1)
                #expect(try await phone.journalOnDisk().first?.status == .ongoing)
                phone.isOffline.withLock { $0 = false }
                guard case .completed = await phone.submit(transaction) else {
                    Issue.record("the purchase was not completed")
                    return
                }
                #expect(try await phone.unfinished().isEmpty)
                #expect(try await phone.journalOnDisk().first?.status == .completed)
            }
        }
    }

    @Test("What the server quarantines stays in the store's queue (O5, invariant 3)")
    func quarantined() async throws {
        try await Shop.open { shop in
            try await Phone.open(shop, user: "ann") { phone in
                _ = try await shop.pay(token: UniqueID(high: 7, low: 7), account: "ann")
                let transaction = try #require(try await phone.unfinished().first)
                guard case .willArrive = await phone.submit(transaction) else {
                    Issue.record("a quarantined purchase is not done")
                    return
                }
                #expect(try await phone.unfinished().count == 1)
                #expect(try await shop.grantCount() == 0)
            }
        }
    }
}

/// A device with the client kit on it, signed in as one user of the app and one account of the store.
private struct Phone: Sendable {
    let shop: Shop
    let user: String
    let file: String
    let purchase: Purchase
    let submit: Submit
    let queue: StoreQueue
    let isOffline: Locked<Bool>

    static func open(_ shop: Shop, user: String, _ journey: (Phone) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("orders.journal").path
        let isOffline = Locked(false)
        let time = shop.time
        let effects = Effects(clock: { time.now }, entropy: RandomBytes.make, pause: { _ in }, spawn: { work in Task { await work() } })
        let transport = Transport { (request) async throws(TransportFault) in
            if isOffline.withLock({ $0 }) { throw TransportFault(.offline) }
            return try await shop.carry(request)
        }
        let server = ServerAccess(url: "till:", transport: transport, language: .english) {
            Session(
                userID: UserID(user), token: UserToken.hs256(subject: user, expires: time.now.seconds + 600))
        }
        let queue = StoreQueue(
            unfinished: {
                let reply = try await shop.ask(.get, "/emulator/transactions?account=\(user)&unfinished=true")
                return reply["data"].list.map { transaction in
                    QueuedTransaction(
                        id: TransactionID(transaction.at("transactionId").text),
                        productID: ProductID(transaction.at("productId").text),
                        quantity: Int(transaction.at("quantity").int ?? 1),
                        token: UniqueID(transaction.at("appAccountToken").text), purchasedAt: time.now,
                        proof: .signedTransaction(transaction.at("signedTransaction").text))
                }
            },
            finish: { id in _ = try? await shop.ask(.post, "/emulator/transactions/\(id)/finish") })
        let journal = try OrderJournal(disk: try Disk.file(at: file))
        try await journey(
            Phone(
                shop: shop, user: user, file: file,
                purchase: Purchase(journal: journal, server: server, effects: effects),
                submit: Submit(journal: journal, queue: queue, server: server, effects: effects), queue: queue,
                isOffline: isOffline))
    }

    func unfinished() async throws -> [QueuedTransaction] { try await queue.unfinished() }

    /// The orders as another launch would find them: read from a copy of the file.
    func journalOnDisk() async throws -> [JournalEntry] {
        let copy = file + "-copy"
        try? FileManager.default.removeItem(atPath: copy)
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        return await (try OrderJournal(disk: try Disk.file(at: copy))).entries()
    }
}

extension Shop {
    /// Carries the client kit's request to the server.
    fileprivate func carry(_ request: TransportRequest) async throws(TransportFault) -> TransportResponse {
        let headers = HTTPHeaders(request.headers.map { (name: $0.key, value: $0.value) })
        let target = String(request.url.dropFirst("till:".count))
        let message = HTTPRequest(
            method: request.method == "GET" ? .get : .post, path: target, headers: headers, body: request.body)
        do throws(HTTPFault) {
            let response = try await deliver(message)
            return TransportResponse(
                status: response.status, contentType: response.headers["Content-Type"] ?? "",
                retryAfter: response.headers["Retry-After"].flatMap { Int64($0) }, body: response.body)
        } catch {
            throw TransportFault(.connectionLost, error.detail)
        }
    }
}
