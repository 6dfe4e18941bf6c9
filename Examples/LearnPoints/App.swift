import TillClient

/// LearnPoints sells packs of points (学点), a library, a course and a membership. This file contains all purchase code
/// of the app; `Screen` contains the output, and `Command` the input.
struct App: Sendable {
    let store: TillStore
    let screen: Screen

    /// Runs from launch to the end of the input.
    func run(user: String, token: String, input: AsyncStream<String>) async {
        // Before anything else, and for the whole life of the app: purchases that an earlier launch left begin to
        // arrive here.
        await store.start()
        await signIn(user, token)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await follow() }
            for await line in input {
                guard let command = Command(line) else { continue }
                if command == .quit { break }
                await handle(command)
            }
            // Also ends the loop over the updates. Pending purchases are kept for the next launch.
            await store.stop()
        }
    }

    /// Handles updates: a completed order, a purchase that was approved, a refund.
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

    private func handle(_ command: Command) async {
        switch command {
        case .shop: await showShop()
        case .buy(let choice, let quantity): await buy(choice, quantity)
        case .orders: screen.show(await store.orders())
        case .resubmit(let number): await resubmit(number)
        case .resubmitAll: await resubmitAll()
        case .wallet: await showWallet()
        case .history: await showHistory()
        case .mine: await showEntitlements()
        case .restore: await restore()
        case .claim(let number): await claim(number)
        case .consent(let isGiven): await setConsent(isGiven)
        case .redeem: screen.offerCodes()
        case .manage: screen.subscriptions()
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
        // A real app calls its own backend here, which issues a new token whenever the kit needs one.
        await store.signIn(user) { token }
        screen.signedIn(user)
    }

    private func showShop() async {
        do {
            screen.show(try await store.products())
        } catch {
            screen.show(await store.cachedProducts(), because: error)
        }
    }

    private func buy(_ choice: Command.Choice, _ quantity: Int) async {
        switch choice {
        case .product(let id): await buy(id, quantity: quantity)
        case .number(let number):
            let products = (try? await store.products()) ?? []
            guard products.indices.contains(number - 1) else { return screen.noSuchNumber(number) }
            await buy(products[number - 1].id, quantity: quantity)
        }
    }

    /// The order is on the device's disk and at the server before the payment sheet appears. The result is returned
    /// here, or arrives later as an update.
    private func buy(_ product: String, quantity: Int) async {
        var options = PurchaseOptions()
        options.quantity = quantity
        do {
            screen.show(try await store.purchase(product, options: options), of: product)
        } catch {
            screen.failed(error, buying: product, await order(error.orderID))
        }
    }

    private func order(_ id: String?) async -> StoreOrder? {
        await store.orders().first { $0.orderID == id }
    }

    /// 补充值: the buyer may request a pending order; the kit also sends it again automatically.
    private func resubmit(_ number: Int) async {
        let orders = await store.orders()
        guard orders.indices.contains(number - 1) else { return screen.noSuchNumber(number) }
        let order = orders[number - 1]
        do {
            screen.show(try await store.resubmit(orderID: order.orderID), of: order.productID)
        } catch {
            screen.failed(error, buying: order.productID, order)
        }
    }

    private func resubmitAll() async {
        await store.checkOrderStatus()
        screen.waited(await ordersUnderWay())
    }

    private func restore() async {
        do {
            screen.show(try await store.restore())
        } catch {
            screen.failed(error)
        }
    }

    private func showWallet() async {
        do {
            screen.show(try await store.wallet())
        } catch {
            screen.failed(error)
        }
    }

    /// The movements of points: purchases, use, and what refunds took back.
    private func showHistory() async {
        do {
            screen.show(try await store.postings().postings)
        } catch {
            screen.failed(error)
        }
    }

    /// The library, the course and the membership.
    private func showEntitlements() async {
        do {
            screen.show(try await store.refresh().entitlements.items)
        } catch {
            screen.failed(error)
        }
    }

    /// For a purchase that has no owner, because the App Store lost the order's id.
    private func claim(_ appleOrderNumber: String) async {
        do {
            screen.show(try await store.claim(appleOrderNumber: appleOrderNumber))
        } catch {
            screen.failed(error)
        }
    }

    /// Without consent the server tells Apple nothing when the buyer asks for a refund.
    private func setConsent(_ isGiven: Bool) async {
        do {
            try await store.setConsumptionConsent(isGiven)
            screen.consented(isGiven)
        } catch {
            screen.failed(error)
        }
    }

    /// Waits until nothing is pending, for scripts that would otherwise end too early.
    private func wait(_ seconds: Int) async {
        await store.checkOrderStatus()
        for _ in 0..<seconds * 10 {
            guard await ordersUnderWay() > 0 else { break }
            try? await Task.sleep(nanoseconds: 100_000_000)
        }
        screen.waited(await ordersUnderWay())
    }

    private func ordersUnderWay() async -> Int { await store.orders().filter(\.canResubmit).count }
}
