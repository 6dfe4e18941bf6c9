import TillAppStore
import TillBilling
import TillClient
import TillHTTP

/// What a buyer's app is told before it starts.
struct BuyerPapers: Codable, Sendable {
    enum Wish: String, Codable, Sendable {
        /// Buy, and stop for a word from outside before the proof is sent.
        case buyAndHold
        /// Only what every launch does: take up what an earlier one left.
        case relaunch
    }

    var wish: Wish
    var user: String
    var token: String
    var product: String
    /// The purchase server and the emulated App Store.
    var server: String
    var store: String
    /// Where this device keeps its files.
    var directory: String
    var language: Language
}

/// A buyer's device: an app built on TillClient as any app would be, with the emulator for its StoreKit.
struct BuyerDevice: Sendable {
    let papers: BuyerPapers
    let journal: OrderJournal
    let purchase: Purchase
    let submit: Submit
    let retry: Retry
    let queue: StoreQueue
    private let call: JSONCall

    /// - Parameter transport: how the app reaches the server; to the store it goes by `fetch` itself.
    init(
        _ papers: BuyerPapers, fetch: Fetch, transport: Transport? = nil, process: ProcessEffects
    ) throws(JournalFault) {
        self.papers = papers
        let call = JSONCall(fetch)
        self.call = call
        let disk: Disk
        do throws(DiskFault) { disk = try .file(at: Self.journalFile(in: papers.directory)) } catch {
            throw .disk(error)
        }
        journal = try OrderJournal(disk: disk)
        let session = Session(userID: UserID(papers.user), token: papers.token)
        let server = ServerAccess(
            url: papers.server, transport: transport ?? Transport(fetch), language: papers.language
        ) { session }
        let effects = Effects(
            clock: process.clock, entropy: process.entropy,
            pause: { try? await Task.sleep(for: .milliseconds($0)) }, spawn: { work in Task { await work() } })
        queue = StoreQueue(
            unfinished: { try await Self.unfinished(papers, call) },
            finish: { id in
                // One that was not finished comes again at the next launch, and is granted already then.
                _ = try? await call.post("\(papers.store)/emulator/transactions/\(id)/finish", [:])
            })
        purchase = Purchase(journal: journal, server: server, effects: effects, deviceID: "demo-\(papers.user)")
        submit = Submit(journal: journal, queue: queue, server: server, effects: effects)
        retry = Retry(journal: journal, queue: queue, submit: submit, effects: effects)
    }

    static func journalFile(in directory: String) -> String { resolve("orders.journal", from: directory) }

    /// The buyer confirms the payment. The order's id goes with it, and Apple signs it (O2).
    func pay(_ entry: JournalEntry) async throws -> QueuedTransaction {
        let paid = try await call.post(
            papers.store + "/emulator/purchases",
            [
                "bundleId": .string(DemoShop.bundleID), "productId": .string(entry.productID.text),
                "quantity": .int(Int64(entry.quantity)), "appAccountToken": .string(entry.id.description),
                "account": .string(papers.user), "receipt": false,
            ])
        guard let transaction = QueuedTransaction(paid) else {
            throw CommandFailure(Text(en: "the store did not take the payment", zh: "商店没有接受付款"))
        }
        return transaction
    }

    private static func unfinished(_ papers: BuyerPapers, _ call: JSONCall) async throws -> [QueuedTransaction] {
        let list = "\(papers.store)/emulator/transactions?account=\(papers.user)&unfinished=true&limit=100"
        var found: [QueuedTransaction] = []
        var cursor: String?
        repeat {
            let page = try await call.get(list + (cursor.map { "&cursor=\($0)" } ?? ""))
            found += (page["data"]?.array ?? []).compactMap(QueuedTransaction.init)
            cursor = page["nextCursor"]?.string
        } while cursor != nil
        return found
    }
}

extension QueuedTransaction {
    /// From the emulator's control API; nil for what is not paid.
    fileprivate init?(_ json: JSONValue) {
        guard let id = json["transactionId"]?.string, let product = json["productId"]?.string,
            let quantity = json["quantity"]?.int, let signed = json["signedTransaction"]?.string,
            let purchased = json["purchaseDate"]?.string.flatMap({ Instant(rfc3339: $0) })
        else { return nil }
        self.init(
            id: TransactionID(id), productID: ProductID(product), quantity: Int(quantity),
            token: json["appAccountToken"]?.string.flatMap { UniqueID($0) }, purchasedAt: purchased,
            proof: .signedTransaction(signed))
    }
}
