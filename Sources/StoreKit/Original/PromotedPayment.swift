import Foundation

/// What was tapped in the App Store (iOS 11).
extension SKPaymentQueue {
    /// Every observer is asked, and one that says yes is enough. Whatever they say, the App Store is done with it;
    /// unless none of them has an answer, when it is left to `PurchaseIntent.intents`.
    func offer(_ intent: IntentWords) async {
        guard state.with({ $0.asked.insert(intent.id).inserted }) else { return }
        let found: SKProduct?
        do throws(StoreFault) {
            found = try await session.originalProducts([intent.productId]).found.first
        } catch {
            return again(intent)
        }
        guard let product = found else { return }
        let payment = SKPayment(product: product)
        let isAnswered = Kept(false)
        let isWanted = await ask { queue in
            let observers = queue.state.with { state in
                state.unanswered = 0
                return state.observers
            }
            let answers = observers.map { $0.paymentQueue(queue, shouldAddStorePayment: payment, for: product) }
            isAnswered.with { $0 = queue.state.with { $0.unanswered } < observers.count }
            return answers.contains(true)
        }
        guard isAnswered.with({ $0 }) else { return }
        do throws(StoreFault) {
            try await session.line.take(intent: intent.id)
        } catch .refused {
            // Another device of the account was first.
            return
        } catch {
            // The answer is lost, not the tap: going on charges nobody who does not pay at the sheet.
        }
        if isWanted { add(payment) }
    }

    /// The observer that is being asked has no answer of its own.
    func leavePromotedPayment() { state.with { $0.unanswered += 1 } }

    private func again(_ intent: IntentWords) {
        state.with { _ = $0.asked.remove(intent.id) }
        let effects = session.effects
        effects.spawn { [weak self] in
            await effects.pause(effects.pollInterval)
            await self?.offer(intent)
        }
    }
}
