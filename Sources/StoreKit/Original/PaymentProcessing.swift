import Foundation
import TillThreads

/// Payments.
extension SKPaymentQueue {
    /// - Parameter payment: a copy that only the queue holds.
    func place(_ payment: SKPayment) {
        let asked = payment.asked
        let transaction = SKPaymentTransaction(SKPaymentTransaction.Content(payment: payment))
        announce { state in
            state.transactions.append(transaction)
            return [transaction]
        }
        workQueue.add { await self.buy(transaction, asked) }
    }

    private func buy(_ transaction: SKPaymentTransaction, _ payment: SKPayment.Content) async {
        if let code = Self.refusal(of: payment) { return fail(transaction, SKError(code)) }
        do throws(EmulatorClientError) {
            guard try await shouldContinue(transaction, payment) else {
                return fail(transaction, SKError(.storeProductNotAvailable))
            }
            switch try await session.purchase(PurchaseRequestBody(payment)) {
            case .purchased(let response): await complete(transaction, response)
            case .deferred(let response): wait(transaction, response)
            // Charged at the next renewal, with another transaction, as after a parent's approval.
            case .scheduled: wait(transaction, nil)
            // The customer must act first; a later payment has another transaction (facts/storekit-client A8).
            case .interrupted, .cancelled: fail(transaction, SKError(.paymentCancelled))
            case .failed: fail(transaction, SKError(.unknown))
            }
        } catch {
            fail(transaction, error.error)
        }
    }

    /// Refusals that StoreKit makes without a request to the store.
    private static func refusal(of payment: SKPayment.Content) -> SKError.Code? {
        if payment.requestData != nil { return .unauthorizedRequestData }
        return payment.productIdentifier.isEmpty || !(1...10).contains(payment.quantity) ? .paymentInvalid : nil
    }

    /// Whether the app continues a payment whose product was shown in another storefront.
    private func shouldContinue(
        _ transaction: SKPaymentTransaction, _ payment: SKPayment.Content
    ) async throws(EmulatorClientError) -> Bool {
        guard let shown = payment.storefront, delegate != nil else { return true }
        let storefront = try await session.status().storefront
        guard storefront.countryCode != shown.countryCode else { return true }
        return await ask(within: 1_000) { queue in
            queue.delegate?.paymentQueue(queue, shouldContinue: transaction, in: SKStorefront(storefront)) ?? true
        }
    }

    private func complete(_ transaction: SKPaymentTransaction, _ response: TransactionResponse) async {
        let receipt = await session.receipt(of: response.transactionId)
        announce { state in
            state.complete(transaction, response, receipt: receipt)
            return [transaction]
        }
    }

    private func wait(_ transaction: SKPaymentTransaction, _ response: TransactionResponse?) {
        announce { _ in
            transaction.wait(number: response?.transactionId)
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

/// Finishing of transactions.
extension SKPaymentQueue {
    func finish(_ transaction: SKPaymentTransaction) {
        switch transaction.content.withLock({ ($0.state, $0.number) }) {
        case (.purchasing, _), (.deferred, _): break
        case (.purchased, let number?):
            guard state.withLock({ $0.finishing.insert(number).inserted }) else { return }
            let effects = session.effects
            effects.spawn { [weak self] in
                while await self?.reportFinish(number) == false { await effects.pause(effects.pollInterval) }
            }
        case (.failed, _), (.restored, _), (.purchased, nil): drop { $0 === transaction }
        }
    }

    /// - Returns: whether the transaction is finished at the store.
    private func reportFinish(_ number: String) async -> Bool {
        do throws(EmulatorClientError) {
            try await session.signedIn()
            try await session.finish(number)
        } catch .refused {
            // The transaction is not in the store's queue, which has the same effect.
        } catch {
            return false
        }
        state.withLock { state in
            state.finishing.remove(number)
            state.finished.insert(number)
        }
        drop { $0.number == number && $0.transactionState == .purchased }
        return true
    }
}

extension PurchaseRequestBody {
    fileprivate init(_ payment: SKPayment.Content) {
        self.init(payment.productIdentifier)
        quantity = payment.quantity
        // The store keeps only a UUID.
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

/// Consent to a higher price of a subscription (iOS 13.4). There is no sheet; the store is informed that the message
/// was shown.
extension SKPaymentQueue {
    /// Without a delegate, the message is left to `Message.messages`.
    func askForConsent(_ message: MessageResponse) async {
        guard delegate != nil else { return }
        let isShown = await ask { queue in queue.delegate?.paymentQueueShouldShowPriceConsent(queue) ?? false }
        if isShown { try? await session.client.shown(message: message.id) }
    }

    func showPriceConsent() {
        session.effects.spawn { [session] in
            guard let update = try? await session.status() else { return }
            for message in update.messages where message.isPriceConsent {
                try? await session.client.shown(message: message.id)
            }
        }
    }
}

extension MessageResponse {
    var isPriceConsent: Bool { reason == "priceIncreaseConsent" }
}

/// Promoted purchases that were tapped in the App Store (iOS 11).
extension SKPaymentQueue {
    /// Asks every observer; one that returns true is sufficient. The intent is taken whatever they answer, unless no
    /// observer implements the method; then it is left to `PurchaseIntent.intents`.
    func offer(_ intent: PurchaseIntentResponse) async {
        guard state.withLock({ $0.asked.insert(intent.id).inserted }) else { return }
        let found: SKProduct?
        do throws(EmulatorClientError) {
            found = try await session.originalProducts([intent.productId]).found.first
        } catch {
            return again(intent)
        }
        guard let product = found else { return }
        let isAnswered = Locked(false)
        let isWanted = await ask { queue in
            let observers = queue.state.withLock { state in
                state.unanswered = 0
                return state.observers
            }
            let answers = observers.map {
                $0.paymentQueue(queue, shouldAddStorePayment: SKPayment(product: product), for: product)
            }
            isAnswered.withLock { $0 = queue.state.withLock { $0.unanswered } < observers.count }
            return answers.contains(true)
        }
        guard isAnswered.withLock({ $0 }) else { return }
        do throws(EmulatorClientError) {
            try await session.client.take(intent: intent.id)
        } catch .refused {
            // Another device of the account took it first.
            return
        } catch {
            // Only the answer is lost. Continuing is safe, because the customer still has to confirm the payment sheet.
        }
        if isWanted { add(SKPayment(product: product)) }
    }

    /// Called for an observer that does not implement the method.
    func leavePromotedPayment() { state.withLock { $0.unanswered += 1 } }

    private func again(_ intent: PurchaseIntentResponse) {
        state.withLock { _ = $0.asked.remove(intent.id) }
        let effects = session.effects
        effects.spawn { [weak self] in
            await effects.pause(effects.pollInterval)
            await self?.offer(intent)
        }
    }
}
