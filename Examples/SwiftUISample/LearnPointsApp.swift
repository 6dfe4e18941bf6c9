// A sample in source form: not compiled here, and part of no target. See README.md.

import SwiftUI
import TillClient

@main
struct LearnPointsApp: App {
    @StateObject private var shop = Shop()

    var body: some Scene {
        WindowGroup {
            ContentView(shop: shop)
                .task { await shop.run() }
        }
    }
}

/// What the screens show, and the one place that talks to the kit.
@MainActor
final class Shop: ObservableObject {
    @Published private(set) var shelf: Shelf?
    @Published private(set) var orders: [OrderSummary] = []
    @Published private(set) var points: Int64 = 0
    /// What the buyer is told after a purchase.
    @Published var message: String?

    /// One for the app's whole life. Nil: the list of orders can't be opened; `message` says why.
    private var store: Store?

    init() {
        do throws(StoreError) {
            store = try Store(StoreConfiguration(server: "https://pay.example.com"))
        } catch {
            message = error.message()
        }
    }

    /// From the launch on: what an earlier launch left arrives here by itself.
    func run() async {
        guard let store else { return }
        await store.start()
        // Your own sign-in names the user, and your own backend issues the token.
        await store.signIn("ann") { await Backend.token() }
        shelf = await store.keptShelf()
        await reload()
        for await update in store.updates {
            if case .promoted(let product) = update { await buy(product) }
            await reload()
        }
    }

    func buy(_ product: String) async {
        guard let store else { return }
        let outcome = await store.purchase(product)
        switch outcome {
        case .completed: message = Language.isChinese ? "已到账，谢谢！" : "It has arrived. Thank you!"
        case .willArrive: message = Language.isChinese ? "已付款，稍后会自动到账。" : "Paid; it will arrive by itself."
        case .deferred: message = Language.isChinese ? "等待批准。" : "It waits for approval."
        case .failed(_, let error): message = error.message()
        // Whoever cancelled knows, and the row shows what is in progress.
        case .cancelled, .inProgress: break
        }
        await reload()
    }

    func resubmit(_ order: OrderSummary) async {
        guard let store else { return }
        message = await store.resubmit(order.orderNumber).error?.message()
        await reload()
    }

    private func reload() async {
        guard let store else { return }
        orders = await store.orders()
        shelf = await store.shelf()
        if let wallet = try? await store.wallet() { points = wallet["points"] ?? 0 }
    }
}

enum Language {
    static var isChinese: Bool { Locale.preferredLanguages.first?.hasPrefix("zh") == true }
}

/// Stands for your own.
enum Backend {
    static func token() async -> String? { nil }
}
