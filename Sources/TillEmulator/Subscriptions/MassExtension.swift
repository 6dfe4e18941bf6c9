import TillBilling
import TillStorage

/// More days for every active subscriber of a product (facts/server-api §3, numbers 8 and 9).
enum MassExtension {
    struct Request: Sendable, Hashable {
        var id: UniqueID
        var bundleID: String
        var productID: ProductID
        var days: Int64
        var reason: Int64
        /// Nil: all of them.
        var storefronts: [String]?
    }

    struct Status: Sendable, Hashable {
        var completed: Instant?
        var succeeded: Int64
        var failed: Int64
    }

    /// Takes a request, which the agenda then works through. The same id again changes nothing.
    static func begin(_ request: Request, _ turn: Turn) throws {}

    /// Nil if there was no such request for this product.
    static func status(_ id: UniqueID, productID: ProductID, _ session: any Session) throws -> Status? { nil }

    /// Goes on with a request where it stopped.
    static func proceed(_ number: Int64, _ turn: Turn) throws {}
}
