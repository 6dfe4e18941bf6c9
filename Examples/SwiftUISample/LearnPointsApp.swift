// A sample in source form: it is not compiled here, and belongs to no target. See README.md.

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

/// The state of the screens, and the only code that uses the kit.
@MainActor
final class Shop: ObservableObject {
    @Published private(set) var productList: ProductList?
    @Published private(set) var orders: [StoreOrder] = []
    @Published private(set) var points: Int64 = 0
    /// The message for the buyer after a purchase.
    @Published var message: String?

    /// One store for the whole life of the app. Nil if the list of orders can't be opened; `message` states the reason.
    private var store: TillStore?

    init() {
        do throws(StoreError) {
            store = try TillStore(TillConfiguration(server: "https://pay.example.com"))
        } catch {
            message = error.message()
        }
    }

    /// Runs from launch on: purchases that an earlier launch left arrive here.
    func run() async {
        guard let store else { return }
        await store.start()
        // Your own sign-in provides the user, and your own backend issues the token.
        await store.signIn("ann") { await Backend.token() }
        productList = await store.cachedProducts()
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
        case .deliveryPending: message = Language.isChinese ? "已付款，稍后会自动到账。" : "Paid; it will arrive by itself."
        case .deferred: message = Language.isChinese ? "等待批准。" : "It waits for approval."
        case .failed(_, let error): message = error.message()
        // The buyer knows about the cancellation, and the row shows a purchase in progress.
        case .cancelled, .inProgress: break
        }
        await reload()
    }

    func resubmit(_ order: StoreOrder) async {
        guard let store else { return }
        message = await store.resubmit(order.orderNumber).error?.message()
        await reload()
    }

    private func reload() async {
        guard let store else { return }
        orders = await store.orders()
        productList = await store.products()
        if let wallet = try? await store.wallet() { points = wallet["points"] ?? 0 }
    }
}

enum Language {
    static var isChinese: Bool { Locale.preferredLanguages.first?.hasPrefix("zh") == true }
}

/// Replace this with your own backend.
enum Backend {
    static func token() async -> String? { nil }
}
