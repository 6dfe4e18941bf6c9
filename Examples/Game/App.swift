import ExampleTerminal
import TillClient

/// A game's coin shop. This file contains the purchase code of the game; `Screen` contains the output, and
/// `CustomerService` what every shop offers.
struct App: Sendable {
    let store: TillStore
    let screen: Screen
    let service: CustomerService

    /// Runs from launch to the end of the input.
    func run(user: String, token: String, input: AsyncStream<String>) async {
        // One observer for the whole life of the game.
        await store.start()
        await store.signIn(user) { token }
        screen.welcome(user)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow() }
            for await line in input {
                let words = line.split(separator: " ").map(String.init)
                if words == ["quit"] { break }
                // Purchases run in the background: the game goes on, and a second tap may come while the first purchase
                // is in progress.
                if words.count == 2, words[0] == "buy" {
                    group.addTask { await buy(words[1]) }
                } else {
                    await handle(words)
                }
            }
            await store.stop()
        }
    }

    /// Purchases that were approved days later, on this launch or another one, arrive here.
    private func follow() async {
        for await update in store.updates {
            switch update {
            case .order(let order): service.changed(order)
            case .promoted(let product): await purchase(product)
            case .revoked(let products):
                service.revoked(products)
                await showCoins()
            case .storefrontChanged: await openShop()
            }
        }
    }

    private func handle(_ words: [String]) async {
        switch words {
        case []: break
        case ["shop"]: await openShop()
        case ["coins"]: await showCoins()
        default: if await !service.handle(words) { screen.help() }
        }
    }

    /// Shows the cached page at once, dimmed; then the store's answer about what can be bought.
    private func openShop() async {
        let cached = await store.cachedProducts().filter(\.isPack)
        if !cached.isEmpty { screen.asking(cached) }
        do {
            screen.show(try await store.products().filter(\.isPack))
        } catch {
            screen.failed(error)
        }
    }

    /// A tap on a product with a purchase in progress begins no second one: the kit returns `inProgress`.
    private func buy(_ choice: String) async {
        let items = await store.cachedProducts().filter(\.isPack)
        let number = Int(choice) ?? 0
        let product = items.indices.contains(number - 1) ? items[number - 1].id : choice
        await purchase(product)
    }

    private func purchase(_ product: String) async {
        do {
            screen.show(try await store.purchase(product))
        } catch {
            screen.failed(error)
        }
    }

    private func showCoins() async {
        do {
            screen.show(try await store.wallet())
        } catch {
            screen.failed(error)
        }
    }
}

extension StoreProduct {
    /// The game sells packs only; the catalogue has a library and a membership, too.
    fileprivate var isPack: Bool { kind == .consumable }
}
