import Foundation
import StoreKit
import Testing
import TillAppStore
import TillBilling
import TillClient
import TillServer
import TillThreads

/// A shop, and the phones of its buyers, all with the same StoreKit.
final class Phones: Sendable {
    let shop: Shop
    /// The line on which the server asks the store about receipts.
    let appleLine: AppleProxy
    let generation: StoreKitGeneration
    /// The proof that their apps send for purchases through StoreKit 1.
    let proof: StoreKit1Proof
    private let folder: URL
    private let all = Locked<[Phone]>([])

    private init(
        _ shop: Shop, _ line: AppleProxy, _ generation: StoreKitGeneration, _ proof: StoreKit1Proof, _ folder: URL
    ) {
        self.shop = shop
        appleLine = line
        self.generation = generation
        self.proof = proof
        self.folder = folder
    }

    /// - Parameters:
    ///   - proof: the proof that StoreKit 1 apps send.
    ///   - hasKey: whether the server has an In-App Purchase key for the store.
    ///   - secret: the app's shared secret; with it the server has no key, and asks verifyReceipt.
    ///   - store: the Apple environment of the store and the server.
    static func open(
        _ generation: StoreKitGeneration, _ reach: Reach = .inProcess, proof: StoreKit1Proof = .signedTransaction,
        hasKey: Bool = true, secret: String? = nil, store: TillBilling.StoreEnvironment = .sandbox,
        change: (inout ServerConfiguration) -> Void = { _ in },
        _ journey: (Phones) async throws -> Void
    ) async throws {
        let line = AppleProxy(secret: secret)
        try await Shop.open(
            reach, environments: [store], change: change, line: hasKey ? line : nil, store: store
        ) { shop in
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("till-phones-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let phones = Phones(shop, line, generation, proof, folder)
            do { try await journey(phones) } catch {
                await phones.switchOff()
                throw error
            }
            await phones.switchOff()
        }
    }

    /// A shop that sells the plans and subscriptions of `CloudShop`.
    ///
    /// - Parameter scope: the scope of its plans.
    static func openCloud(
        _ generation: StoreKitGeneration, scope: PlanScope? = nil, _ journey: (Phones) async throws -> Void
    ) async throws {
        try await open(generation, change: { $0.catalog = CloudShop.catalog(scope: scope) }) { phones in
            try await CloudShop.stock(phones.shop)
            try await journey(phones)
        }
    }

    /// A phone whose app is launched.
    ///
    /// - Parameters:
    ///   - user: the user of the app; nil if none is signed in.
    ///   - account: the account of the store; the user's name if nil.
    ///   - isLaunched: false if the app is to be opened later.
    func phone(_ user: String?, account: String? = nil, isLaunched: Bool = true) async throws -> Phone {
        let phone = Phone(
            shop, user: user, account: account ?? user ?? "guest", generation: generation, proof: proof,
            folder: folder.appendingPathComponent(UUID().uuidString))
        all.withLock { $0.append(phone) }
        try await phone.set([:])
        if isLaunched { try await phone.open() }
        return phone
    }

    private func switchOff() async {
        for phone in all.withLock({ $0 }) { await phone.kill() }
    }
}

extension StoreKitGeneration {
    static let both: [StoreKitGeneration] = [.storeKit1, .storeKit2]
}

extension Shop {
    /// Ids of an account's transactions, oldest first.
    func transactions(of account: String, _ query: String) async throws -> [String] {
        let reply = try await ask(.get, "/emulator/transactions?account=\(account)&\(query)&limit=100")
        try #require(reply.status == 200, "\(reply.body)")
        return reply["data"].list.map { $0.at("transactionId").text }
    }

    /// The number of a user's grants, of any product.
    func grants(of user: String) async throws -> Int64 {
        try await ledger.read { connection in
            try connection.first(
                """
                SELECT count(*) AS count FROM grants WHERE customer_id = \(customer: 1)
                """, [.text(user)]
            ) {
                $0.integer("count")
            }
        } ?? 0
    }

    /// The statuses of a user's orders at the server, newest first.
    func ordersAtServer(of user: String) async throws -> [String] {
        try await send(.get, "/v1/users/\(user)/orders")["data"].list.map { $0.at("status").text }
    }

    /// From now on the store sends its notifications to the server.
    func tellServer() async throws {
        _ = try await ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
    }
}
