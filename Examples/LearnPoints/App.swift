import TillClient

/// LearnPoints sells packs of points (学点). This file is all of the app that knows about purchases; what it shows is
/// `Screen`'s business, and what is typed `Command`'s.
struct App: Sendable {
    let store: Store
    let screen: Screen

    /// From the launch to the end of the input.
    func run(user: String, token: String, input: AsyncStream<String>) async {
        // First of all, for the app's whole life: what an earlier launch left begins to arrive here.
        await store.start()
        await signIn(user, token)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow() }
            for await line in input {
                guard let command = Command(line) else { continue }
                if command == .quit { break }
                await obey(command)
            }
            // Ends the loop over the updates too. What is paid and not settled is kept for the next launch.
            await store.stop()
        }
    }

    /// What happens by itself: an order that completes, a purchase that was approved at last, a refund.
    private func follow() async {
        for await update in store.updates {
            switch update {
            case .order(let order): screen.changed(order)
            case .revoked(let products): screen.revoked(products)
            case .promoted(let product): await buy(product, quantity: 1)
            case .storefrontChanged: await showShop()
            }
        }
    }

    private func obey(_ command: Command) async {
        switch command {
        case .shop: await showShop()
        case .buy(let choice, let quantity): await buy(choice, quantity)
        case .orders: screen.show(await store.orders())
        case .resubmit(let number): await resubmit(number)
        case .wallet: await showWallet()
        case .restore: screen.show(await store.restore())
        case .signIn(let user, let token): await signIn(user, token)
        case .signOut:
            await store.signOut()
            screen.signedOut()
        case .wait(let seconds): await wait(seconds)
        case .help: screen.help()
        case .unknown(let line): screen.unknown(line)
        case .quit: break
        }
    }

    private func signIn(_ user: String, _ token: String) async {
        // A real app asks its own backend here, which issues a fresh token whenever the kit wants one.
        await store.signIn(user) { token }
        screen.signedIn(user)
    }

    private func showShop() async { screen.show(await store.shelf()) }

    private func buy(_ choice: Command.Choice, _ quantity: Int) async {
        switch choice {
        case .product(let id): await buy(id, quantity: quantity)
        case .number(let number):
            let shelf = await store.shelf()
            guard shelf.items.indices.contains(number - 1) else { return screen.noSuchNumber(number) }
            await buy(shelf.items[number - 1].id, quantity: quantity)
        }
    }

    /// The order is on the device's disk and at the server before the payment sheet comes up; whatever happens then,
    /// it is either here as the outcome or comes later as an update.
    private func buy(_ product: String, quantity: Int) async {
        screen.show(await store.purchase(product, quantity: quantity), of: product)
    }

    /// 补充值: the buyer may ask for an order that is under way; it would be sent again by itself, too.
    private func resubmit(_ number: Int) async {
        let orders = await store.orders()
        guard orders.indices.contains(number - 1) else { return screen.noSuchNumber(number) }
        let order = orders[number - 1]
        screen.show(await store.resubmit(order.orderNumber), of: order.productID.text)
    }

    private func showWallet() async {
        do {
            screen.show(try await store.wallet())
        } catch {
            screen.failed(error)
        }
    }

    /// Until nothing is under way any more: for scripts, which would otherwise end too early.
    private func wait(_ seconds: Int) async {
        await store.checkOrderStatus()
        for _ in 0..<seconds * 10 {
            guard await ordersUnderWay() > 0 else { break }
            try? await Task.sleep(nanoseconds: 100_000_000)
        }
        screen.waited(await ordersUnderWay())
    }

    private func ordersUnderWay() async -> Int { await store.orders(all: true).filter(\.mayResubmit).count }
}
