import TillBilling

/// The language of sentences for the buyer.
public typealias StoreLanguage = Language

/// Which of Apple's two interfaces the kit buys through. Everything else is the same for both.
public enum StoreKitGeneration: String, Hashable, Sendable, CaseIterable {
    /// StoreKit 2 where the system has it, else StoreKit 1.
    case automatic
    /// `SKPaymentQueue`, with the app receipt as proof.
    case storeKit1
    /// `Transaction`, with Apple's signed transaction as proof.
    case storeKit2
}

/// What an app tells the kit once. Only the server has no default.
public struct StoreConfiguration: Hashable, Sendable {
    /// The purchase server: `https://pay.example.com`. `http://` is refused, except to this machine (127.0.0.0/8, ::1,
    /// localhost).
    public var server: String
    /// Through which StoreKit the kit buys.
    public var generation = StoreKitGeneration.automatic
    /// Where the list of orders, the cached product list and the device's id are kept; made if it is not there. Nil:
    /// `Till` in the app's Application Support; on Linux `till` in `XDG_STATE_HOME` or `~/.local/state`. One running
    /// `Store` may use it at a time. Keep it out of an app group's container, where iOS ends an app that holds a lock
    /// while it is suspended.
    public var directory: String?
    /// The app's own name for this device, at most 128 bytes. Nil: one is made and kept in the directory.
    public var deviceID: String?
    /// Of the server's sentences. The kit's own come in every language.
    public var language = StoreLanguage.ofDevice

    /// - Parameter server: the purchase server, `https://pay.example.com`.
    public init(server: String) { self.server = server }
}
