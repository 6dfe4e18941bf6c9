// A sample in source form: it is not compiled here, and belongs to no target. See README.md.

import SwiftUI
import TillClient

struct ContentView: View {
    @ObservedObject var shop: Shop

    var body: some View {
        NavigationView {
            List {
                Section("Points · 学点") { Text("\(shop.points)") }
                Section("Shop · 商店") {
                    ForEach(shop.productList?.items ?? []) { item in
                        ProductRow(item: item) { await shop.buy(item.id) }
                    }
                    if let problem = shop.productList?.error { Text(problem.message()).foregroundColor(.secondary) }
                }
                Section("Orders · 订单") {
                    ForEach(shop.orders) { order in
                        OrderRow(order: order) { await shop.resubmit(order) }
                    }
                }
            }
            .navigationTitle("LearnPoints")
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

/// Dimmed until the store has answered, disabled while it is being bought.
private struct ProductRow: View {
    let item: StoreProduct
    let buy: () async -> Void

    var body: some View {
        HStack {
            Text(item.name)
            Spacer()
            if item.isPurchasing {
                ProgressView()
            } else {
                Button(item.displayPrice) { Task { await buy() } }
                    .disabled(!item.canBuy)
            }
        }
        .opacity(item.canBuy || item.isPurchasing ? 1 : 0.4)
    }
}

private struct OrderRow: View {
    let order: StoreOrder
    let resubmit: () async -> Void

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(order.productID.text)
                Text(Language.isChinese ? order.title.zh : order.title.en).foregroundColor(.secondary)
                if let note = order.note { Text(Language.isChinese ? note.zh : note.en).font(.footnote) }
            }
            Spacer()
            // 补充值
            if order.mayResubmit { Button("Resubmit · 补充值") { Task { await resubmit() } } }
        }
    }
}
