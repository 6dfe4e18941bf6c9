import TillBilling
import TillHTTP
import TillJSON

// The requests of a shopper's app to the server and the store.

extension Shopper {
    /// - Returns: the id of the open order; nil without an answer.
    func openOrder(_ product: String, id: String?, nonce: String?) async -> String? {
        var body: [String: JSONValue] = ["productId": .string(product), "deviceId": .string(device)]
        body["id"] = id.map { .string($0) }
        body["idNonce"] = nonce.map { .string($0) }
        let key = random.bytes(8).map { String($0) }.joined(separator: "-")
        for _ in 0..<5 {
            let (status, answer) = await ask("/v1/orders", .object(body), key: key)
            if status == 201 || status == 200, let id = StolenData.text(answer?["id"]) { return id }
            if let status, (400..<500).contains(status), status != 429, status != 409 { return nil }
            await scheduler.pause(random.between(500, 30_000))
        }
        return nil
    }

    /// Posts every payment that is not done.
    func deliver() async {
        var left: [Payment] = []
        for var payment in payments {
            var isDone = false
            for _ in 0..<3 where !isDone {
                isDone = await post(&payment)
                if !isDone { await scheduler.pause(random.between(1_000, 120_000)) }
            }
            if !isDone { left.append(payment) }
        }
        payments = left
    }

    /// - Returns: whether it was granted and finished.
    private func post(_ payment: inout Payment) async -> Bool {
        let isFirst = !payment.isPosted
        payment.isPosted = true
        let (status, answer) = await send(payment)
        guard let status, let answer else { return false }
        if status == 202, StolenData.text(answer["outcome"]) == "quarantined",
            case .accountToken = habit.naming
        {
            shop.stolen.note(quarantined: accountToken, for: payment.product)
        }
        if shop.isQuiet, isFirst { check(status, answer, payment) }
        var isOver = status == 200 || status == 410
        if case .bool(let finish)? = answer["finish"] { isOver = finish }
        guard isOver else { return false }
        let outcome = StolenData.text(answer["outcome"])
        if outcome == "granted" || outcome == "alreadyGranted" { await noteGranted(payment) }
        for _ in 0..<5 {
            let request = HTTPRequest(method: .post, path: "/emulator/transactions/\(payment.transaction)/finish")
            if let response = try? await shop.toStore.send(request, from: shop.process), response.status == 200,
                !response.body.isEmpty, (try? JSONValue(decoding: response.body)) != nil
            {
                return true
            }
            await scheduler.pause(random.between(500, 30_000))
        }
        return false
    }

    private func send(_ payment: Payment) async -> (status: Int?, answer: [String: JSONValue]?) {
        var body: [String: JSONValue] = [:]
        guard habit.proof == .postPay, let receipt = payment.receipt else {
            body["productId"] = .string(payment.product)
            body["deviceId"] = .string(device)
            if habit.naming != .nothing { body["orderId"] = payment.order.map { .string($0) } }
            body["idNonce"] = payment.nonce.map { .string($0) }
            if user != guest, habit.isGuest, payment.nonce != nil { body["idUserId"] = .string(guest) }
            if habit.proof == .receipt, let receipt = payment.receipt {
                body["receipt"] = .string(receipt)
                body["transactionId"] = .string(payment.transaction)
            } else {
                body["signedTransaction"] = .string(payment.signed)
            }
            return await ask("/v1/transactions", .object(body))
        }
        body["token"] = .string(token)
        body["receipt-data"] = .string(receipt)
        body["product_id"] = .string(String(payment.product.dropFirst(SimulatedShop.bundleID.utf8.count + 1)))
        body["transaction_id"] = .string(payment.transaction)
        body["order_id"] = payment.order.map { .string($0) }
        return await ask("/postPay/ios", .object(body), isSigned: false)
    }

    /// In a world with thieves as the only disturbance, a payment with the customer's own order must be granted at
    /// once.
    private func check(_ status: Int, _ answer: [String: JSONValue], _ payment: Payment) {
        guard habit.naming == .order || habit.naming == .provenOrder, habit.proof == .signed else { return }
        let outcome = StolenData.text(answer["outcome"])
        if status == 202, outcome == "accepted" { return }
        guard status == 200, outcome == "granted" || outcome == "alreadyGranted" || outcome == "revoked" else {
            return shop.complain(
                .delayedByThief, "\(user) brought \(payment.transaction) and heard \(status) \(outcome ?? "")",
                ["transaction \(payment.transaction)", "user \(user)"])
        }
    }

    /// Thieves may read its bill.
    private func noteGranted(_ payment: Payment) async {
        shop.stolen.note(granted: payment.transaction)
        guard random.chance(0.5),
            case .object(let sale)? = await shop.apple.act(.get, "/emulator/transactions/\(payment.transaction)"),
            let number = StolenData.text(sale["orderId"])
        else { return }
        shop.stolen.note(orderNumber: number)
    }

    // MARK: Guests and restoring

    /// The guest signs in to an account.
    func merge() async {
        shop.groundTruth.note(guest: guest, of: name)
        let now = scheduler.now
        for _ in 0..<5 {
            let body: JSONValue = [
                "guestId": .string(guest),
                "guestToken": .string(SimulatedShop.token(of: guest, at: now, isGuest: true)),
                "reason": "first sign-in",
            ]
            let (status, answer) = await ask(
                "/v1/users/\(name)/guests", body, bearer: SimulatedShop.token(of: name, at: scheduler.now))
            if status == 201 || status == 200, answer?["id"] != nil {
                isMerged = true
                shop.stolen.note(mergedGuest: guest)
                return
            }
            if let status, (400..<500).contains(status), status != 429 {
                shop.parts.log.record("shopper", "\(guest) can't be merged: \(status)", about: ["user \(guest)"])
                return
            }
            await scheduler.pause(random.between(1_000, 60_000))
        }
    }

    /// Restores everything that Apple signed for this customer.
    func restore() async {
        // A phone also shows the newest period of a subscription, which the app may not know.
        var signed = proofs
        for case .object(let sale) in await sales([("account", account), ("limit", "100")]) {
            guard let id = StolenData.text(sale["transactionId"]) else { continue }
            signed[id] = StolenData.text(sale["signedTransaction"]) ?? signed[id]
        }
        let proofs = signed.sorted { $0.key < $1.key }.map { JSONValue.string($0.value) }
        guard !proofs.isEmpty else { return }
        for _ in 0..<3 {
            let (status, answer) = await ask("/v1/restores", ["signedTransactions": .array(proofs)])
            if status == 200, answer?["data"] != nil { return }
            await scheduler.pause(random.between(1_000, 30_000))
        }
    }

    // MARK: Sending

    private var token: String { SimulatedShop.token(of: user, at: scheduler.now, isGuest: user == guest) }

    private func ask(
        _ path: String, _ body: JSONValue, key: String? = nil, bearer: String? = nil, isSigned: Bool = true
    ) async -> (status: Int?, answer: [String: JSONValue]?) {
        var headers = HTTPHeaders([("Content-Type", "application/json")])
        if isSigned { headers.add("Authorization", "Bearer \(bearer ?? token)") }
        if let key { headers.add("Idempotency-Key", key) }
        let request = HTTPRequest(
            method: .post, path: path, headers: headers, body: body.encodedBytes(), peer: "198.51.100.7")
        guard let response = try? await shop.toServer.send(request, from: shop.process) else { return (nil, nil) }
        if shop.isQuiet, response.status == 429 || response.status >= 500 {
            shop.complain(
                .delayedByThief, "\(user) asked for \(path) and was told \(response.status)", ["user \(user)", path])
        }
        return (response.status, StolenData.members(response.body))
    }
}
