import Foundation

/// Paying.
extension SKPaymentQueue {
    /// - Parameter payment: nobody else has it.
    func place(_ payment: SKPayment) {
        let transaction = SKPaymentTransaction(SKPaymentTransaction.Content(payment: payment))
        announce { state in
            state.transactions.append(transaction)
            return [transaction]
        }
        desk.add { await self.buy(transaction, payment.asked) }
    }

    private func buy(_ transaction: SKPaymentTransaction, _ payment: SKPayment.Content) async {
        if let code = Self.refusal(of: payment) { return fail(transaction, SKError(code)) }
        do throws(StoreFault) {
            guard try await goesOn(transaction, payment) else {
                return fail(transaction, SKError(.storeProductNotAvailable))
            }
            switch try await session.purchase(PurchaseQuestion(payment)) {
            case .purchased(let words): await settle(transaction, words)
            case .deferred(let words): wait(transaction, words)
            // Paid for at the next renewal: that is another transaction, as after a parent's approval.
            case .scheduled: wait(transaction, nil)
            // The customer has something to do first; what is paid then is another transaction (A8).
            case .interrupted, .cancelled: fail(transaction, SKError(.paymentCancelled))
            case .failed: fail(transaction, SKError(.unknown))
            }
        } catch {
            fail(transaction, error.error)
        }
    }

    /// What StoreKit refuses without asking the store.
    private static func refusal(of payment: SKPayment.Content) -> SKError.Code? {
        if payment.requestData != nil { return .unauthorizedRequestData }
        return payment.productIdentifier.isEmpty || !(1...10).contains(payment.quantity) ? .paymentInvalid : nil
    }

    /// Whether the app wants to sell in this storefront what it showed in another.
    private func goesOn(
        _ transaction: SKPaymentTransaction, _ payment: SKPayment.Content
    ) async throws(StoreFault) -> Bool {
        guard let shown = payment.storefront, delegate != nil else { return true }
        let storefront = try await session.status().storefront
        guard storefront.countryCode != shown.countryCode else { return true }
        return await ask(within: 1_000) { queue in
            queue.delegate?.paymentQueue(queue, shouldContinue: transaction, in: SKStorefront(storefront)) ?? true
        }
    }

    private func settle(_ transaction: SKPaymentTransaction, _ words: TransactionWords) async {
        let receipt = try? await session.line.receipt(of: words.transactionId)
        announce { state in
            state.settle(transaction, words, receipt: receipt)
            return [transaction]
        }
    }

    private func wait(_ transaction: SKPaymentTransaction, _ words: TransactionWords?) {
        announce { _ in
            transaction.wait(number: words?.transactionId)
            return [transaction]
        }
    }

    private func fail(_ transaction: SKPaymentTransaction, _ error: any Error) {
        announce { _ in
            transaction.fail(error)
            return [transaction]
        }
    }
}

/// Finishing.
extension SKPaymentQueue {
    func finish(_ transaction: SKPaymentTransaction) {
        switch transaction.content.with({ ($0.state, $0.number) }) {
        case (.purchasing, _), (.deferred, _): break
        case (.purchased, let number?):
            guard state.with({ $0.finishing.insert(number).inserted }) else { return }
            let effects = session.effects
            effects.spawn { [weak self] in
                while await self?.tellStore(number) == false { await effects.pause(effects.pollInterval) }
            }
        case (.failed, _), (.restored, _), (.purchased, nil): drop { $0 === transaction }
        }
    }

    /// - Returns: whether the store knows that the transaction is finished.
    private func tellStore(_ number: String) async -> Bool {
        do throws(StoreFault) {
            try await session.signedIn()
            try await session.finish(number)
        } catch .refused {
            // Nothing that is in its queue: the same end.
        } catch {
            return false
        }
        state.with { state in
            state.finishing.remove(number)
            state.finished.insert(number)
        }
        drop { $0.number == number && $0.transactionState == .purchased }
        return true
    }
}

extension PurchaseQuestion {
    fileprivate init(_ payment: SKPayment.Content) {
        self.init(payment.productIdentifier)
        quantity = payment.quantity
        // Whatever is no UUID the store does not keep.
        appAccountToken = payment.applicationUsername.flatMap { UUID(uuidString: $0) }
        if payment.simulatesAskToBuyInSandbox { outcome = "deferred" }
        offer = payment.paymentDiscount.map { discount in
            Offer(
                type: "promotional", identifier: discount.identifier,
                signature: Offer.Signature(
                    keyIdentifier: discount.keyIdentifier, nonce: discount.nonce,
                    timestamp: discount.timestamp.int64Value, signature: discount.signature))
        }
    }
}
