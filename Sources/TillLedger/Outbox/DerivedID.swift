import TillBilling
import TillCrypto

/// Ids derived from what they name. A ledger that was restored from a backup receives the same purchases again and
/// gives them the same ids, so that a backend which drops repeated ids credits each of them once.
enum DerivedID {
    /// The id of the one grant of a transaction.
    static func grant(app bundleID: String, _ id: TransactionID, in environment: StoreEnvironment) -> UniqueID {
        make("till grant 1", [bundleID, environment.rawValue, id.text])
    }

    /// The id of an event.
    ///
    /// - Parameters:
    ///   - key: what happened, and to what: `grant.created:Production:2000000123456789`.
    ///   - revision: how often it happened before.
    ///   - data: the event's data, for an event whose id includes it (`EventType.movesValue`).
    static func event(_ key: String, revision: Int64, data: String? = nil) -> UniqueID {
        guard let data else { return make("till event 1", [key, String(revision)]) }
        let digest = hexadecimal(Digest.sha256.hash(Array(data.utf8)))
        return make("till event 2", [key, String(revision), digest])
    }

    /// Eight bytes of the digest of an event's key, used to find its repetitions.
    static func hash(_ key: String) -> Int64 { Int64(bitPattern: make("till event key 1", [key]).low) }

    /// UUIDv8 of SHA-256 over the label, a zero byte, and each part after its length in two bytes.
    private static func make(_ label: String, _ parts: [String]) -> UniqueID {
        var bytes = Array(label.utf8)
        bytes.append(0)
        for part in parts {
            let count = part.utf8.count
            bytes.append(UInt8(truncatingIfNeeded: count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: count))
            bytes.append(contentsOf: part.utf8)
        }
        return UniqueID(version8: Array(Digest.sha256.hash(bytes).prefix(16)))
    }
}
