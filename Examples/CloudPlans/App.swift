import TillClient

/// CloudPlans sells a cloud service by the month and by the year. This file contains all purchase code of the app;
/// `Screen` contains the output.
struct App: Sendable {
    let store: TillStore
    let screen: Screen

    /// Runs from launch to the end of the input.
    func run(user: String, token: String, input: AsyncStream<String>) async {
        await store.start()
        await store.signIn(user) { token }
        screen.welcome(user)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await update in store.updates {
                    if case .order(let order) = update { screen.changed(order) }
                }
            }
            // A buyer who enters the service gets paid purchases at once, without asking for them.
            await store.checkOrderStatus()
            await showPlan()
            var seen: PlanPreview?
            for await line in input {
                let words = line.split(separator: " ").map(String.init)
                if words == ["quit"] { break }
                await handle(words, &seen)
            }
            await store.stop()
        }
    }

    /// - Parameter seen: the last preview that was shown, if nothing was bought since.
    private func handle(_ words: [String], _ seen: inout PlanPreview?) async {
        switch (words.first, words.count) {
        case (nil, _): break
        case ("plans", 1): screen.show(await plans())
        case ("mine", 1): await showPlan()
        case ("preview", 2): seen = await preview(words[1])
        case ("buy", 2):
            await buy(words[1], seen)
            seen = nil
        case ("orders", 1): screen.show(await store.orders())
        default: screen.help()
        }
    }

    /// The four plans that are bought for a time. The four auto-renewable subscriptions sell the same plans; this shop
    /// page does not show them.
    private func plans() async -> [StoreProduct] {
        do {
            return try await store.products().filter { $0.kind == .consumable }
        } catch {
            screen.failed(error)
            return await store.cachedProducts().filter { $0.kind == .consumable }
        }
    }

    private func showPlan() async {
        do {
            screen.show(try await store.refresh().entitlements.items)
        } catch {
            screen.failed(error)
        }
    }

    /// Shows the result of a purchase before payment. The server computes it in the same way as the purchase.
    private func preview(_ choice: String) async -> PlanPreview? {
        guard let plan = await plan(choice) else {
            screen.noSuchPlan(choice)
            return nil
        }
        do {
            let preview = try await store.previewPlan(plan.id)
            screen.show(preview, paying: plan)
            return preview
        } catch {
            screen.failed(error)
            return nil
        }
    }

    /// A buyer who saw the preview gets exactly its result, to the second, independent of the time that passed.
    private func buy(_ choice: String, _ seen: PlanPreview?) async {
        guard let plan = await plan(choice) else { return screen.noSuchPlan(choice) }
        let options = seen.flatMap { $0.productID == plan.id ? PurchaseOptions($0) : nil } ?? PurchaseOptions()
        do {
            screen.show(try await store.purchase(plan.id, options: options))
        } catch {
            screen.failed(error)
        }
        await showPlan()
    }

    /// Finds a plan by its number on the page, by its id, or by the end of its id: `basic_monthly`.
    private func plan(_ choice: String) async -> StoreProduct? {
        let items = await plans()
        if let number = Int(choice) { return items.indices.contains(number - 1) ? items[number - 1] : nil }
        return items.first { $0.id == choice || $0.id.hasSuffix(".\(choice)") }
    }
}
