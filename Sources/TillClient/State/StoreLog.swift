import TillBilling

/// The app's log hook.
struct StoreLog: Sendable {
    let hook: (@Sendable (LogEvent) -> Void)?

    func record(
        _ level: LogEvent.Level, _ name: String, order: OrderID? = nil, product: ProductID? = nil,
        transaction: TransactionID? = nil, code: String? = nil, request: String? = nil
    ) {
        guard let hook else { return }
        hook(
            LogEvent(
                level: level, name: name, orderID: order?.description, productID: product?.text,
                transactionID: transaction?.text, code: code, requestID: request))
    }

    func record(_ outcome: SubmitOutcome, of transaction: QueuedTransaction) {
        let (level, name, code): (LogEvent.Level, String, String?) =
            switch outcome {
            case .completed: (.info, "purchase_completed", nil)
            case .refunded: (.info, "purchase_refunded", nil)
            case .deliveryPending(let reason, _): (.info, "delivery_pending", reason.code)
            case .refused(let reason): (.warning, "proof_refused", reason.code)
            }
        record(
            level, name, order: transaction.token, product: transaction.productID, transaction: transaction.id,
            code: code)
    }

    func record(_ ending: PurchaseEnding, of product: ProductID) {
        let (level, name): (LogEvent.Level, String) =
            switch ending.outcome {
            case .completed: (.info, "purchase_completed")
            case .deliveryPending: (.info, "delivery_pending")
            case .deferred: (.info, "purchase_deferred")
            case .cancelled: (.info, "purchase_cancelled")
            case .failed: (.warning, "purchase_failed")
            case .inProgress: (.debug, "purchase_in_progress")
            }
        let order = ending.outcome.order
        record(
            level, name, order: order?.uuid, product: product, transaction: order?.transaction,
            code: ending.outcome.error?.code, request: ending.outcome.error?.requestID)
    }
}
