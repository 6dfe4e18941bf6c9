// An app's source: no target of this package contains it, because Linux has no SwiftUI. See README.md.

import SwiftUI
import TillClient

@MainActor
struct ContentView: View {
    @ObservedObject var shop: Shop
    @ObservedObject var model: TillStoreModel
    @State private var appleOrderNumber = ""
    @AppStorage("mayTellApple") private var mayTellApple = false

    var body: some View {
        NavigationView {
            List {
                account
                products
                orders
                help
            }
            .navigationTitle("LearnPoints")
            .refreshable { await shop.reload() }
            .alert(shop.message ?? "", isPresented: isShowingMessage) {}
        }
    }

    private var account: some View {
        Section(text("My account", "我的账户")) {
            Text(text("\(points) points", "\(points) 学点"))
            if model.store.isEntitled("member") { Label(text("Member", "会员"), systemImage: "star.fill") }
            ForEach(model.state.entitlements.items, id: \.self) { right in
                Text(right.sentence()).font(.footnote).foregroundColor(.secondary)
            }
        }
    }

    private var products: some View {
        Section(text("Shop", "商店")) {
            ForEach(model.state.products) { product in
                ProductRow(product: product, isPurchasing: model.state.purchasing.contains(product.id)) {
                    await shop.buy(product.id)
                }
            }
            ActionButton(text("Redeem a code", "兑换优惠代码")) { await shop.redeemCode() }
            ActionButton(text("Manage subscriptions", "管理订阅")) { await shop.manageSubscriptions() }
            ActionButton(text("Restore purchases", "恢复购买")) { await shop.restore() }
        }
    }

    private var orders: some View {
        Section(text("Orders", "订单")) {
            ForEach(model.state.orders) { order in
                OrderRow(order: order) { await shop.resubmit(order) }
            }
            if model.state.orders.contains(where: \.canResubmit) {
                ActionButton(text("Resubmit all", "全部补单")) { await shop.resubmitAll() }
            }
        }
    }

    private var help: some View {
        Section(text("Help", "帮助")) {
            TextField(text("Order number in Apple's mail", "Apple 邮件中的订单号"), text: $appleOrderNumber)
            ActionButton(text("Claim a lost purchase", "认领丢失的购买")) { await shop.claim(appleOrderNumber) }
                .disabled(appleOrderNumber.isEmpty)
            Toggle(text("If I ask for a refund, tell Apple how much I used", "申请退款时，向 Apple 提供使用情况"), isOn: consent)
        }
    }

    private var points: Int64 { model.state.wallet?["points"] ?? 0 }

    private var consent: Binding<Bool> {
        Binding {
            mayTellApple
        } set: { isGiven in
            mayTellApple = isGiven
            Task { await shop.setConsent(isGiven) }
        }
    }

    private var isShowingMessage: Binding<Bool> {
        Binding {
            shop.message != nil
        } set: {
            if !$0 { shop.message = nil }
        }
    }
}

/// Dimmed until the App Store has answered, disabled while it is being bought.
@MainActor
private struct ProductRow: View {
    let product: StoreProduct
    let isPurchasing: Bool
    let buy: () async -> Void

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(product.name)
                Text(product.description).font(.footnote).foregroundColor(.secondary)
            }
            Spacer()
            if isPurchasing {
                ProgressView()
            } else {
                ActionButton(product.displayPrice, action: buy).disabled(!product.canBuy)
            }
        }
        .opacity(product.canBuy || isPurchasing ? 1 : 0.4)
    }
}

@MainActor
private struct OrderRow: View {
    let order: StoreOrder
    let resubmit: () async -> Void

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(order.productName)
                Text("\(order.title()) · \(order.createdAt.formatted(date: .abbreviated, time: .shortened))")
                    .foregroundColor(.secondary)
                if let note = order.note() { Text(note).font(.footnote) }
            }
            Spacer()
            if let price = order.price, let currency = order.currency {
                Text(price.formatted(.currency(code: currency)))
            }
            if order.canResubmit { ActionButton(text("Resubmit", "补单"), action: resubmit) }
        }
    }
}

@MainActor
private struct ActionButton: View {
    let title: String
    let action: () async -> Void

    init(_ title: String, action: @escaping () async -> Void) {
        self.title = title
        self.action = action
    }

    var body: some View { Button(title) { Task { await action() } }.buttonStyle(.borderless) }
}
