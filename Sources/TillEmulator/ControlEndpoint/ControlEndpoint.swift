import TillBilling
import TillHTTP
import TillJSON

/// The control API under `/emulator` (CONTRACT §3): what a customer, a parent, a bank or a developer in App Store
/// Connect would do, done by a script. Each topic is a file of its own.
struct ControlEndpoint: Sendable {
    let store: Store
    let issuer: Issuer
    let configuration: EmulatorConfiguration
    let apiKey: APIKey
    let entropy: @Sendable (Int) -> [UInt8]

    func add(to routes: inout ControlRoutes) {
        addIdentity(to: &routes)
        addAppTransactions(to: &routes)
        addProducts(to: &routes)
        addPurchases(to: &routes)
        addTransactions(to: &routes)
        addReceipts(to: &routes)
        addSubscriptions(to: &routes)
        addOffers(to: &routes)
        addAccounts(to: &routes)
        addDevices(to: &routes)
        addClock(to: &routes)
        addFaults(to: &routes)
        addNotifications(to: &routes)
        addState(to: &routes)
    }

    func number(_ id: String) throws(Problem) -> Int64 {
        guard let number = Int64(id), number >= 0, String(number) == id else {
            throw Problem(.unknownTransaction(String(id.prefix(40))))
        }
        return number
    }

    func json(_ transaction: StoreTransaction) throws -> JSONValue {
        try TransactionText.json(transaction, signedBy: issuer, at: store.now)
    }
}
