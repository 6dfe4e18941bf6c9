import TillBilling
import TillCrypto

/// The key under which erased user ids are hashed. It is kept outside of the database and of its backups, so that a
/// reader of these can't find out whether a given user id was erased.
public struct ErasureKey: Sendable, Hashable {
    /// Bytes that a key has at least.
    public static let minimumLength = HashKey.minimumLength

    private let key: HashKey

    /// Nil for a text that is too short.
    public init?(_ text: String) {
        guard let key = HashKey(text) else { return nil }
        self.key = key
    }

    /// The same for the same user of the same app in every ledger that uses this key.
    package func hash(of user: UserID) -> [UInt8] { key.code("till erased user 1", [[1], Array(user.text.utf8)]) }

    /// The user id that the rows of an erased customer show. It differs for each customer, also if the same user comes
    /// back and is erased again.
    func pseudonym(of user: UserID, customer: Int64) -> UserID {
        UserID(Self.name(key.code("till pseudonym 1", [Self.number(customer), Array(user.text.utf8)])))
    }

    /// The device id that stands for a device of an erased customer: a customer's devices stay distinct, so the time of
    /// device plans stays the same.
    func device(_ device: DeviceID, customer: Int64) -> DeviceID {
        guard !UserID(device.text).isPseudonym else { return device }
        return DeviceID(Self.name(key.code("till erased device 1", [Self.number(customer), Array(device.text.utf8)])))
    }

    private static func number(_ number: Int64) -> [UInt8] { Array(String(number).utf8) }

    private static func name(_ code: [UInt8]) -> String {
        UserID.pseudonymPrefix + hexadecimal(code.prefix(UserID.pseudonymDigits / 2))
    }
}

/// What a ledger needs to erase customers.
public struct ErasureTerms: Sendable {
    public let key: ErasureKey
    /// Adds lines to the list of erasures that is kept beside the backups, unless they are there, and returns after
    /// they are on disk.
    public let keep: @Sendable ([String]) throws -> Void

    public init(key: ErasureKey, keep: @escaping @Sendable ([String]) throws -> Void) {
        self.key = key
        self.keep = keep
    }
}
