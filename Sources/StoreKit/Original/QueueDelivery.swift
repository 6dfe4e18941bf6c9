import Foundation

extension SKPaymentQueue {
    /// Changes the queue and tells the observers of what changed, in one step of the callbacks' line: whoever is called
    /// sees exactly this change and the ones before it.
    ///
    /// - Parameter change: gives the transactions that changed.
    func announce(_ change: @escaping @Sendable (inout QueueState) -> [SKPaymentTransaction]) {
        call { queue in
            let (changed, observers) = queue.state.with { state in (change(&state), state.observers) }
            guard !changed.isEmpty else { return }
            for observer in observers { observer.paymentQueue(queue, updatedTransactions: changed) }
        }
    }

    /// Takes transactions off the queue.
    func drop(_ isOver: @escaping @Sendable (SKPaymentTransaction) -> Bool) {
        call { queue in
            let (removed, observers) = queue.state.with { state in
                let removed = state.transactions.filter(isOver)
                state.transactions.removeAll(where: isOver)
                return (removed, state.observers)
            }
            guard !removed.isEmpty else { return }
            for observer in observers { observer.paymentQueue(queue, removedTransactions: removed) }
        }
    }

    /// Tells every observer.
    func tell(_ message: @escaping @Sendable (any SKPaymentTransactionObserver, SKPaymentQueue) -> Void) {
        call { queue in
            for observer in queue.state.with({ $0.observers }) { message(observer, queue) }
        }
    }

    /// Asks the app something.
    ///
    /// - Parameter limit: so many milliseconds after the app was asked the answer is no; nil: as long as it takes.
    func ask(within limit: Int64? = nil, _ question: @escaping @Sendable (SKPaymentQueue) -> Bool) async -> Bool {
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        let effects = session.effects
        if let limit {
            callbacks.add {
                effects.spawn {
                    await effects.pause(limit)
                    answer.yield(false)
                }
            }
        }
        call { queue in answer.yield(question(queue)) }
        for await answer in answers { return answer }
        return false
    }

    private func call(_ call: @escaping @Sendable (SKPaymentQueue) -> Void) {
        let callback = session.effects.callback
        callbacks.add { await callback { call(self) } }
    }
}
