// A sample in source form: it is not compiled here, and belongs to no target. See README.md.

import SwiftUI
import TillClient

struct ContentView: View {
    @ObservedObject var shop: Shop
    @ObservedObject var model: TillStoreModel
    @State private var appleOrderNumber = ""
    @State private var mayTellApple = false

    var body: some View {
        NavigationView {
            List {
                Section("Points · 学点") {
                    Text("\(model.state.wallet?["points"] ?? 0)")
                    if model.store.isEntitled("pro") { Label("Pro", systemImage: "star.fill") }
                }
                Section("Shop · 商店") {
                    ForEach(model.state.products) { product in
                        ProductRow(product: product, isPurchasing: model.state.purchasing.contains(product.id)) {
                            await shop.buy(product.id)
                        }
                    }
                    Button("Redeem a code · 兑换优惠代码") { Task { await shop.redeemCode() } }
                    Button("Manage subscriptions · 管理订阅") { Task { await shop.manageSubscriptions() } }
                    Button("Restore purchases · 恢复购买") { Task { await shop.restore() } }
                }
                Section("Orders · 订单") {
                    ForEach(model.state.orders) { order in
                        OrderRow(order: order) { await shop.resubmit(order) }
                    }
                }
                Section("Help · 帮助") {
                    TextField("Apple's order number · Apple 订单号", text: $appleOrderNumber)
                    Button("Claim a purchase · 认领购买") { Task { await shop.claim(appleOrderNumber) } }
                        .disabled(appleOrderNumber.isEmpty)
                    Toggle("Tell Apple how much was used · 告知 Apple 使用情况", isOn: $mayTellApple)
                        .onChange(of: mayTellApple) { isGiven in Task { await shop.setConsent(isGiven) } }
                }
            }
            .navigationTitle("LearnPoints")
            .refreshable { await shop.reload() }
            .alert(shop.message ?? "", isPresented: isShowingMessage) {}
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
private struct ProductRow: View {
    let product: StoreProduct
    let isPurchasing: Bool
    let buy: () async -> Void

    var body: some View {
        HStack {
            Text(product.name)
            Spacer()
            if isPurchasing {
                ProgressView()
            } else {
                Button(product.displayPrice) { Task { await buy() } }
                    .disabled(!product.canBuy)
            }
        }
        .opacity(product.canBuy || isPurchasing ? 1 : 0.4)
    }
}

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
            // 补充值
            if order.canResubmit { Button("Resubmit · 补充值") { Task { await resubmit() } } }
        }
    }
}
