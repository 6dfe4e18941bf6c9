// A sample in source form: it is not compiled here, and belongs to no target. See README.md.

import SwiftUI
import TillClient

@main
struct LearnPointsApp: App {
    @StateObject private var shop = Shop()

    var body: some Scene {
        WindowGroup {
            if let model = shop.model {
                ContentView(shop: shop, model: model)
                    .task { await shop.run() }
            } else {
                Text(shop.message ?? "")
            }
        }
    }
}

/// The actions of the screens, and the only code that calls the kit. What the screens show is the kit's own state.
@MainActor
final class Shop: ObservableObject {
    /// The kit's state; nil if the list of orders can't be opened. `message` states the reason.
    let model: TillStoreModel?
    /// The message for the customer after an action.
    @Published var message: String?

    init() {
        do {
            var configuration = TillConfiguration(server: "https://pay.example.com")
            configuration.log = { event in print(event.name, event.orderID ?? "", event.code ?? "") }
            model = TillStoreModel(try TillStore(configuration))
        } catch {
            model = nil
            message = (error as? TillError)?.message()
        }
    }

    /// Runs from launch on: purchases that an earlier launch left arrive here.
    func run() async {
        guard let store = model?.store else { return }
        await store.start()
        // Your own sign-in provides the user, and your own backend issues the token.
        await store.signIn("ann") { await Backend.token() }
        _ = await store.cachedProducts()
        await reload()
        for await update in store.updates {
            switch update {
            case .promoted(let productID): await buy(productID)
            case .storefrontChanged: await reload()
            case .order, .revoked: break
            }
        }
    }

    func reload() async {
        await report { store in _ = try await store.products() }
        await report { store in _ = try await store.refresh() }
    }

    func buy(_ productID: String) async {
        await report { store in
            switch try await store.purchase(productID) {
            case .completed: self.message = Words.arrived
            case .deliveryPending(_, let reason): self.message = reason.message()
            case .deferred: self.message = Words.waitsForApproval
            // The customer knows about the cancellation, and the row shows a purchase in progress.
            case .cancelled, .inProgress: break
            }
        }
    }

    func resubmit(_ order: StoreOrder) async {
        await report { store in _ = try await store.resubmit(orderID: order.orderID) }
    }

    /// App Review requires a button for this.
    func restore() async {
        await report { store in
            let result = try await store.restore()
            self.message = result.error?.message() ?? Words.restored(result.restored.count)
        }
    }

    /// For a purchase that has no owner: the customer types the order number of Apple's mail.
    func claim(_ appleOrderNumber: String) async {
        await report { store in
            let claimed = try await store.claim(appleOrderNumber: appleOrderNumber)
            self.message = Words.claimed(claimed.filter(\.isYours).count)
        }
    }

    func setConsent(_ isGiven: Bool) async {
        await report { store in try await store.setConsumptionConsent(isGiven) }
    }

    func redeemCode() async {
        guard let scene else { return }
        await report { store in try await store.presentOfferCodeRedeemSheet(in: scene) }
    }

    func manageSubscriptions() async {
        guard let scene else { return }
        await report { store in try await store.showManageSubscriptions(in: scene) }
    }

    private var scene: UIWindowScene? { UIApplication.shared.connectedScenes.first as? UIWindowScene }

    private func report(_ work: (TillStore) async throws -> Void) async {
        guard let store = model?.store else { return }
        do {
            try await work(store)
        } catch {
            if let error = error as? TillError { message = error.message() }
        }
    }
}

/// The app's own words; the kit brings its own sentences for errors, orders and entitlements.
enum Words {
    private static let isChinese = Locale.preferredLanguages.first?.hasPrefix("zh") == true

    static let arrived = isChinese ? "已到账，谢谢！" : "It has arrived. Thank you!"
    static let waitsForApproval = isChinese ? "等待批准。" : "It waits for approval."
    static func restored(_ count: Int) -> String { isChinese ? "已恢复 \(count) 项。" : "\(count) restored." }
    static func claimed(_ count: Int) -> String { isChinese ? "已认领 \(count) 项。" : "\(count) claimed." }
}

/// Replace this with your own backend.
enum Backend {
    static func token() async -> String? { nil }
}
