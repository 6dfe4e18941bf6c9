import TillBilling
import TillSQL

/// The key that authenticates seals. It is kept outside of the database and of its backups: who can write to the
/// database, and does not have the key, can't make seals.
public struct SealKey: Sendable, Hashable {
    /// Bytes that a key has at least.
    public static let minimumLength = HashKey.minimumLength

    private let key: HashKey

    /// Nil for a text that is too short.
    public init?(_ text: String) {
        guard let key = HashKey(text) else { return nil }
        self.key = key
    }

    /// What stands for a user id in a sealed row: an erased customer's name can be removed, and the seal still holds.
    func name(of user: UserID, customer: Int64) -> [UInt8] {
        key.code("till sealed name 1", [Array(String(customer).utf8), Array(user.text.utf8)])
    }

    /// What stands for an account token in a sealed row.
    func token(_ token: UniqueID, customer: Int64) -> [UInt8] {
        key.code("till sealed token 1", [Array(String(customer).utf8), token.bytes])
    }

    /// The code that authenticates a seal of a ledger.
    func code(of seal: Seal, ledger: UniqueID) -> [UInt8] {
        let numbers = [
            seal.rowID, seal.stream.rawValue, seal.first, seal.last, seal.at.milliseconds, seal.isFound ? 1 : 0,
        ]
        return key.code("till seal 1", [ledger.bytes] + numbers.map(Self.bytes) + [seal.digest])
    }

    /// The code that authenticates the ends of all chains together.
    func code(of heads: [Seal], ledger: UniqueID, at: Instant) -> [UInt8] {
        var parts = [ledger.bytes, Self.bytes(at.milliseconds)]
        for seal in heads { parts.append(Self.bytes(seal.stream.rawValue) + Self.bytes(seal.last) + seal.digest) }
        return key.code("till seals 1", parts)
    }

    /// The code in the mark of a commit.
    func code(ofCommit number: Int64, ledger: UniqueID?, epoch: Int64?) -> [UInt8] {
        key.code("till commit 1", [ledger?.bytes ?? [], epoch.map(Self.bytes) ?? [], Self.bytes(number)])
    }

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
