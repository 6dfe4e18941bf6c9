// An app's source: no target of this package contains it, because Linux has no SwiftUI. See README.md.

import SwiftUI
import TillClient

@main
@MainActor
struct LearnPointsApp: App {
    @StateObject private var shop = Shop()

    var body: some Scene {
        WindowGroup {
            if let model = shop.model {
                ContentView(shop: shop, model: model).task { await shop.run() }
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
            message = error.message()
        }
    }

    /// Runs from launch on: purchases that an earlier launch left arrive here.
    func run() async {
        guard let store = model?.store else { return }
        await store.start()
        // Your own sign-in provides the user, and your own backend issues the token.
        await store.signIn("ann") { await Backend.token() }
        // The products of the last launch appear at once, dimmed.
        _ = await store.cachedProducts()
        await reload()
        for await update in store.updates {
            switch update {
            case .promoted(let productID): await buy(productID)
            case .storefrontChanged: await reload()
            case .revoked:
                message = text("The App Store took a purchase back.", "App Store 已收回一项购买。")
                await reload()
            // The list of orders shows it: an approved purchase, a late delivery, a refund.
            case .order: break
            }
        }
    }

    func reload() async {
        await report { store in
            try await store.products()
            try await store.refresh()
        }
    }

    func buy(_ productID: String) async {
        await report { store in
            switch try await store.purchase(productID) {
            case .completed: self.message = text("It has arrived. Thank you!", "已到账，谢谢！")
            case .deliveryPending(_, let reason): self.message = reason.message()
            case .deferred:
                self.message = text("Your family is asked. It arrives after the approval.", "已向家人发出请求，批准后自动到账。")
            // The customer knows about the cancellation, and the row shows a purchase in progress.
            case .cancelled, .inProgress: break
            }
        }
    }

    func resubmit(_ order: StoreOrder) async {
        await report { store in
            if case .deliveryPending(_, let reason) = try await store.resubmit(orderID: order.orderID) {
                self.message = reason.message()
            }
        }
    }

    func resubmitAll() async {
        await report { store in await store.checkOrderStatus() }
    }

    /// App Review requires a button for this.
    func restore() async {
        await report { store in
            let result = try await store.restore()
            let count = result.restored.count
            self.message = result.error?.message() ?? text("\(count) restored.", "已恢复 \(count) 项。")
        }
    }

    /// For a purchase that has no owner: the customer types the order number of Apple's mail.
    func claim(_ appleOrderNumber: String) async {
        await report { store in
            let count = try await store.claim(appleOrderNumber: appleOrderNumber).filter(\.isYours).count
            self.message = text("\(count) claimed.", "已认领 \(count) 项。")
        }
    }

    func setConsent(_ isGiven: Bool) async {
        await report { store in try await store.setConsumptionConsent(isGiven) }
    }

    func redeemCode() async {
        guard let scene else { return }
        await report { store in
            try await store.presentOfferCodeRedeemSheet(in: scene)
            // A redeemed purchase names no user; restoring claims it for the signed-in one.
            _ = try await store.restore()
        }
    }

    func manageSubscriptions() async {
        guard let scene else { return }
        await report { store in try await store.showManageSubscriptions(in: scene) }
    }

    private var scene: UIWindowScene? { UIApplication.shared.connectedScenes.first as? UIWindowScene }

    /// The kit's errors say what to do, in the customer's language.
    private func report(_ work: (TillStore) async throws -> Void) async {
        guard let store = model?.store else { return }
        do {
            try await work(store)
        } catch {
            message = (error as? TillError)?.message()
        }
    }
}

/// The app's own words; the kit brings its own sentences for errors, orders and entitlements.
func text(_ english: String, _ chinese: String) -> String {
    Locale.preferredLanguages.first?.hasPrefix("zh") == true ? chinese : english
}

/// Replace this with your own backend.
enum Backend {
    static func token() async -> String? { nil }
}
