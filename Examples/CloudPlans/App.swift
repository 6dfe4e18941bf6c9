import ExampleTerminal
import TillClient

/// CloudPlans stores the recordings of cameras, by the month or the year. This file contains the purchase code of the
/// app; `Screen` contains the output, and `CustomerService` what every shop offers.
struct App: Sendable {
    let store: TillStore
    let screen: Screen
    let service: CustomerService

    /// Runs from launch to the end of the input.
    func run(user: String, token: String, input: AsyncStream<String>) async {
        await store.start()
        await store.signIn(user) { token }
        screen.welcome(user)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow() }
            // A buyer who enters the service gets paid purchases at once, without asking for them.
            await store.checkOrderStatus()
            await showPlans()
            var seen: Preview?
            for await line in input {
                let words = line.split(separator: " ").map(String.init)
                if words == ["quit"] { break }
                await handle(words, &seen)
            }
            await store.stop()
        }
    }

    private func follow() async {
        for await update in store.updates {
            switch update {
            case .order(let order): service.changed(order)
            case .revoked(let products): service.revoked(products)
            case .promoted(let product): await buy(product, for: nil, nil)
            case .storefrontChanged: break
            }
        }
    }

    /// - Parameter seen: the last preview that was shown, if nothing was bought since.
    private func handle(_ words: [String], _ seen: inout Preview?) async {
        let camera = words.count > 2 ? words[2] : nil
        switch (words.first, words.count) {
        case (nil, _): break
        case ("plans", 1): screen.show(await products())
        case ("mine", 1): await showPlans()
        case ("camera", 2): showAccess(of: words[1])
        case ("preview", 2...3): seen = await preview(words[1], for: camera)
        case ("buy", 2...3):
            await buy(words[1], for: camera, seen)
            seen = nil
        case ("subscriptions", 1): await showSubscriptions()
        default: if await !service.handle(words) { screen.help() }
        }
    }

    /// The eight products: four plans, each bought once or renewed by Apple.
    private func products() async -> [StoreProduct] {
        do {
            return try await store.products()
        } catch {
            screen.failed(error)
            return await store.cachedProducts()
        }
    }

    /// The plans that run, and those that end soon. A real service also sends a push: its backend receives the webhooks
    /// `service.expiring` and `service.expired`.
    private func showPlans() async {
        do {
            let items = try await store.refresh().entitlements.items
            screen.show(items, names: await names())
        } catch {
            screen.failed(error)
        }
    }

    private func names() async -> [String: String] {
        let known = await store.cachedProducts()
        return Dictionary(known.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
    }

    /// Answers without a network, too. The service itself asks the server before it stores a recording.
    private func showAccess(of camera: String) {
        let ranks = ["premium", "basic"].filter { store.isEntitled($0, device: camera) }
        screen.showAccess(of: camera, ranks.first)
    }

    private func showSubscriptions() async {
        do {
            screen.show(try await store.subscriptions(), names: await names())
        } catch {
            screen.failed(error)
        }
    }

    /// Shows the result of a purchase before payment. The server computes it in the same way as the purchase.
    private func preview(_ choice: String, for camera: String?) async -> Preview? {
        guard let plan = await plan(choice, for: camera) else { return nil }
        // Apple charges, changes and refunds the periods of a subscription itself.
        guard plan.kind == .consumable else {
            screen.showRenewed(plan)
            return nil
        }
        do {
            let preview = try await store.previewPlan(plan.id, device: camera)
            screen.show(preview, paying: plan)
            return Preview(result: preview, camera: camera)
        } catch {
            screen.failed(error)
            return nil
        }
    }

    /// A buyer who saw the preview gets exactly its result, to the second, independent of the time that passed.
    private func buy(_ choice: String, for camera: String?, _ seen: Preview?) async {
        guard let plan = await plan(choice, for: camera) else { return }
        var options = PurchaseOptions()
        if let seen, seen.result.productID == plan.id, seen.camera == camera { options = PurchaseOptions(seen.result) }
        options.device = camera
        do {
            let result = try await store.purchase(plan.id, options: options)
            // A lower subscription, or another period of the same level, begins at the next renewal.
            screen.show(result, beginsLater: result.order?.productID != plan.id)
        } catch {
            screen.failed(error)
        }
        await showPlans()
    }

    /// Finds a product by its number on the page, by its id, or by the end of its id: `basic_monthly`. Nil, with the
    /// reason on the screen, if there is none, or if it is for one camera and none is named, or the other way round.
    private func plan(_ choice: String, for camera: String?) async -> StoreProduct? {
        let items = await products()
        let number = Int(choice) ?? 0
        let found =
            items.indices.contains(number - 1)
            ? items[number - 1] : items.first { $0.id == choice || $0.id.hasSuffix(".\(choice)") }
        guard let plan = found else {
            screen.noSuchPlan(choice)
            return nil
        }
        guard plan.isForOneCamera == (camera != nil) else {
            screen.wrongCamera(plan)
            return nil
        }
        return plan
    }
}

/// A preview that the buyer has seen.
private struct Preview: Sendable {
    let result: PlanPreview
    let camera: String?
}

extension StoreProduct {
    /// Basic, bought once, is for one camera. Premium, and every subscription, is for all cameras of the account.
    var isForOneCamera: Bool { kind == .consumable && id.contains(".basic_") }
}
