import TillBilling
import TillJSON

/// Single transactions and downloads (facts/server-api §3: 1, 4, 13, 14, 15).
extension ServerAPI {
    /// Get Transaction Info: one transaction of any product type, finished or not, refunded or not.
    ///
    /// - Parameter environment: nil if unknown.
    public func transactionInfo(
        _ id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<SignedTransaction> {
        let target = try Self.target("/inApps/v1/transactions", id)
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(ServerAPICall(.transactionInfo, .get, target.text), in: environment) {
                (fields) throws(ServerAPIError) in
                SignedTransaction(
                    jws: try fields.required("signedTransactionInfo", fields.string("signedTransactionInfo")))
            }
        }
    }

    /// Get App Transaction Info: the customer's download of the app.
    ///
    /// - Parameter id: any transaction of the customer, or an appTransactionId.
    public func appTransactionInfo(
        of id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<SignedAppTransaction> {
        let target = try Self.target("/inApps/v1/transactions/appTransactions", id)
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(ServerAPICall(.appTransactionInfo, .get, target.text), in: environment) {
                (fields) throws(ServerAPIError) in
                SignedAppTransaction(
                    jws: try fields.required("signedAppTransactionInfo", fields.string("signedAppTransactionInfo")))
            }
        }
    }

    /// Finish Transaction: for a granted transaction that the client has not finished. Repeating it is harmless.
    ///
    /// - Returns: the environment that knew the transaction.
    @discardableResult
    public func finish(
        _ id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> StoreEnvironment {
        let target = try Self.target("/inApps/v1/transactions", id).literal("/finish")
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await perform(ServerAPICall(.finish, .post, target.text), in: environment)
        }.environment
    }

    /// Set App Account Token: sets the owner of a purchase that was made outside the app, or without a token. For a
    /// subscription it applies to the newest renewal and later ones; it does not work for family-shared purchases.
    ///
    /// - Parameter id: the id of an original transaction.
    public func setAppAccountToken(
        _ token: UniqueID, on id: TransactionID, in environment: StoreEnvironment
    ) async throws(ServerAPIError) {
        let target = try Self.target("/inApps/v1/transactions", id, "originalTransactionId")
            .literal("/appAccountToken")
        let body: JSONValue = ["appAccountToken": .string(token.description)]
        try await perform(ServerAPICall(.appAccountToken, .put, target.text, body: body), in: environment)
    }

    /// The environment whose orders can be looked up: production at Apple, any at an emulated store; nil if none is
    /// accepted.
    public var orderLookupEnvironment: StoreEnvironment? {
        environments.contains(.production) || hosts.emulator == nil
            ? environments.first { $0 == .production } : environments.first
    }

    /// Look Up Order ID: the purchases in a receipt that Apple mailed to the customer. Apple answers for production
    /// only, an emulated store for each environment.
    public func lookUpOrder(_ orderID: String) async throws(ServerAPIError) -> OrderLookup {
        let target = try valid { () throws(InvalidRequestError) in
            try RequestPath("/inApps/v1/lookup").segment(orderID, "orderId")
        }
        guard let environment = orderLookupEnvironment else {
            throw .invalid(InvalidRequestError("orderId", .productionOnly))
        }
        return try await ask(ServerAPICall(.orderLookup, .get, target.text), in: environment) {
            (fields) throws(ServerAPIError) in
            OrderLookup(
                status: OrderLookup.Status(rawValue: try fields.required("status", fields.int64("status"))),
                transactions: (try fields.strings("signedTransactions") ?? []).map(SignedTransaction.init))
        }
    }

    static func target(
        _ path: String, _ id: TransactionID, _ field: String = "transactionId"
    ) throws(ServerAPIError) -> RequestPath {
        try valid { () throws(InvalidRequestError) in try RequestPath(path).segment(id.text, field) }
    }
}

/// Apple's record of an order id from a customer's receipt.
public struct OrderLookup: Sendable, Hashable {
    public struct Status: RawRepresentable, Sendable, Hashable {
        public let rawValue: Int64
        public init(rawValue: Int64) { self.rawValue = rawValue }

        public static let valid = Status(rawValue: 0)
        /// Not an order of this app.
        public static let invalid = Status(rawValue: 1)
    }

    public let status: Status
    public let transactions: [SignedTransaction]
}
