import TillBilling
import TillSQL

extension StoreSchema {
    /// Products that customers tapped in the App Store.
    static let purchaseIntents: StaticString = """
        CREATE TABLE purchase_intents (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            account TEXT NOT NULL REFERENCES accounts (name),
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            offer TEXT,
            device TEXT,
            taken_by TEXT
        ) STRICT;
        CREATE INDEX purchase_intents_waiting ON purchase_intents (account, bundle_id, number)
            WHERE taken_by IS NULL;
        """
}

/// A promoted purchase: a customer tapped a product in the App Store, and the app is to continue with it
/// (facts/storekit-client: `shouldAddStorePayment`, `PurchaseIntent`).
public struct PurchaseIntent: Sendable, Hashable {
    public var id: UniqueID
    public var account: String
    public var bundleID: String
    public var productID: ProductID
    /// The identifier of the tapped offer.
    public var offer: String?
    /// The device on which it was tapped; nil: the first device of the account that asks gets it.
    public var device: UniqueID?
    /// The device whose app took it; nil while it waits.
    public var takenBy: UniqueID?
}

/// Taps in the App Store.
enum PurchaseIntentTable {
    static let columns: Columns = "id, account, bundle_id, product_id, offer, device"

    /// The most intents that may wait for one app.
    static let limit = 100

    static func insert(_ intent: PurchaseIntent, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO purchase_intents (\(columns)) VALUES (\(marks: 6))
            """,
            [
                .text(intent.id.description), .text(intent.account), .text(intent.bundleID),
                .text(intent.productID.text), .optional(intent.offer), .optional(intent.device?.description),
            ])
    }

    static func find(_ id: UniqueID, _ connection: any Connection) throws -> PurchaseIntent? {
        try connection.first(
            """
            SELECT \(columns), taken_by FROM purchase_intents WHERE id = ?
            """, [.text(id.description)], read) ?? nil
    }

    /// The intents that no app has taken, for this device or for any device, in the order of the taps.
    static func waiting(
        account: String, bundleID: String, device: UniqueID, _ connection: any Connection
    ) throws -> [PurchaseIntent] {
        try connection.query(
            waiting, [.text(account), .text(bundleID), .text(device.description), .integer(Int64(limit))], read
        ).compactMap { $0 }
    }

    static let waiting: SQL = """
        SELECT \(columns), taken_by FROM purchase_intents
        WHERE account = ? AND bundle_id = ? AND taken_by IS NULL AND (device IS NULL OR device = ?)
        ORDER BY number LIMIT ?
        """

    static func count(account: String, bundleID: String, _ connection: any Connection) throws -> Int64 {
        try connection.first(
            "SELECT count(*) AS count FROM purchase_intents WHERE account = ? AND bundle_id = ? AND taken_by IS NULL",
            [.text(account), .text(bundleID)]
        ) { $0.integer("count") } ?? 0
    }

    static func take(_ id: UniqueID, by device: UniqueID, _ connection: any Connection) throws {
        try connection.execute(
            "UPDATE purchase_intents SET taken_by = ? WHERE id = ? AND taken_by IS NULL",
            [.text(device.description), .text(id.description)])
    }

    private static func read(_ row: any Row) -> PurchaseIntent? {
        guard let id = UniqueID(row.text("id")) else { return nil }
        return PurchaseIntent(
            id: id, account: row.text("account"), bundleID: row.text("bundle_id"),
            productID: ProductID(row.text("product_id")),
            offer: row.optionalText("offer"), device: row.optionalText("device").flatMap { UniqueID($0) },
            takenBy: row.optionalText("taken_by").flatMap { UniqueID($0) })
    }
}

extension Store {
    /// A customer taps a product in the App Store.
    ///
    /// - Parameter offer: the identifier of one of the product's promotional or win-back offers.
    func tap(
        _ productID: String, offer: String?, account name: String, bundleID: String, device: UniqueID?
    ) async throws -> Result<PurchaseIntent, StoreRefusal> {
        try await change { change in
            let account = try AccountTable.account(name, openingIn: change.configuration.storefront, change.connection)
            guard !account.isDeleted else { return .failure(.accountDeleted(name)) }
            if let device, case .failure(let refusal) = try AccountChanges.device(device, of: name, change.connection) {
                return .failure(refusal)
            }
            let found = try OfferedProduct.find(
                productID, storefront: account.storefront, change.configuration, change.connection)
            guard let found else {
                guard let product = try ProductTable.find(ProductID(productID), change.connection) else {
                    return .failure(try ProductTable.unknown(productID, change.connection))
                }
                return .failure(
                    product.prices[account.storefront] == nil
                        ? .notForSale(product: productID, storefront: account.storefront)
                        : .notOnSale(productID, product.state))
            }
            if let offer, !(found.promotional + found.winBacks).contains(where: { $0.offer.identifier == offer }) {
                return .failure(.unknownOffer(offer, product: productID))
            }
            guard
                try PurchaseIntentTable.count(account: name, bundleID: bundleID, change.connection)
                    < PurchaseIntentTable.limit
            else { return .failure(.tooManyIntents(PurchaseIntentTable.limit)) }
            let intent = PurchaseIntent(
                id: change.uniqueID(), account: name, bundleID: bundleID, productID: found.product.id, offer: offer,
                device: device)
            try PurchaseIntentTable.insert(intent, change.connection)
            return .success(intent)
        }
    }

    /// The app on this device continues with a tapped product. The first device to take an intent keeps it; further
    /// calls change nothing.
    func take(_ id: UniqueID, on device: UniqueID) async throws -> Result<PurchaseIntent, StoreRefusal> {
        try await change { change in
            guard let device = try DeviceTable.find(device, change.connection) else {
                return .failure(.unknownDevice(device))
            }
            guard let intent = try PurchaseIntentTable.find(id, change.connection), intent.account == device.account,
                intent.device == nil || intent.device == device.id
            else { return .failure(.unknownIntent(id)) }
            try PurchaseIntentTable.take(id, by: device.id, change.connection)
            return .success(try PurchaseIntentTable.find(id, change.connection) ?? intent)
        }
    }
}
