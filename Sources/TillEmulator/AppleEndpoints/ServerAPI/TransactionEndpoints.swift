import TillAppStore
import TillBilling
import TillHTTP
import TillSQL

/// Single transactions and app downloads (facts/server-api §3: 1, 4, 13, 14, 15).
extension ServerAPIEndpoint {
    func transactionInfo(_ call: APICall) async throws -> HTTPResponse {
        let transaction = try await store.ask { connection in try call.transaction(connection) }
        return .json(["signedTransactionInfo": .string(try issuer.signedTransaction(transaction, at: store.now))])
    }

    func finish(_ call: APICall) async throws -> HTTPResponse {
        try await store.change { change in
            let transaction = try call.transaction(change.connection)
            if !transaction.isFinished { try TransactionTable.setFinished(transaction.number, true, change.connection) }
        }
        return HTTPResponse(status: 200)
    }

    func appTransactionInfo(_ call: APICall) async throws -> HTTPResponse {
        let download = try await store.ask { connection in try call.customer(connection) }
        let content = AppTransactionContent(
            download: download, app: store.configuration.app(call.bundleID),
            environment: store.configuration.environment)
        return .json(["signedAppTransactionInfo": .string(try issuer.signedAppTransaction(content, at: store.now))])
    }

    /// Apple answers this in production only, because sandbox customers get no mails with order ids. The emulator also
    /// answers it in the sandbox, so that claims by order number can be rehearsed.
    func orderLookup(_ call: APICall) async throws -> HTTPResponse {
        guard call.id.utf8.count <= 100 else { throw APIError(.generalBadRequest) }
        let number = OrderNumber(call.id)
        let found = try await store.ask { connection in
            guard let number, let found = try TransactionTable.find(number.transaction, connection),
                found.bundleID == call.bundleID, found.orderNumber == number,
                try AccountTable.find(found.account, connection)?.isDeleted != true
            else { return StoreTransaction?.none }
            return found
        }
        guard let found else { return .json(["status": 1, "signedTransactions": []]) }
        return .json(["status": 0, "signedTransactions": try signed([found], at: store.now)])
    }

    /// Sets the `appAccountToken` of a purchase without a token, or with a wrong one. For a subscription it applies to
    /// the newest transaction and all later renewals (facts/server-api §3, note on 13).
    func setAppAccountToken(_ call: APICall) async throws -> HTTPResponse {
        let token = try call.body().required("appAccountToken", else: .invalidAppAccountTokenUUID) {
            $0.string.flatMap { UniqueID($0) }
        }
        try await store.change { change in
            var transaction = try call.transaction(absent: .originalTransactionIDNotFound, change.connection)
            guard transaction.sharedFrom == nil else { throw APIError(.familyTransactionNotSupported) }
            guard transaction.number == transaction.original else {
                throw APIError(.transactionIDIsNotOriginalTransactionID)
            }
            if var subscription = try SubscriptionTable.find(transaction.number, change.connection) {
                subscription.appAccountToken = token
                try SubscriptionTable.save(subscription, change.connection)
                transaction = try TransactionTable.find(subscription.current, change.connection) ?? transaction
            }
            transaction.appAccountToken = token
            try TransactionTable.update(transaction, change.connection)
        }
        return HTTPResponse(status: 200)
    }
}
