import TillBilling
import TillLedger

/// The section `erasure`: the key under which erased user ids are hashed, and the list beside the backups.
struct ErasureSettings: Sendable, Hashable {
    let key: ErasureKey
    /// The path of the list.
    let list: String

    var terms: ErasureTerms {
        ErasureTerms(key: key) { [list] lines in try ErasureListFile(path: list).add(lines) }
    }
}

/// `erasure.key` or `erasure.keyFile`, and `erasure.list`: all or nothing, because an erasure that is not on the list
/// comes back with an older backup.
extension ConfigurationReader {
    mutating func readErasure() -> ErasureSettings? {
        guard setting(.erasureKey) ?? setting(.erasureKeyFile) ?? setting(.erasureList) != nil else { return nil }
        let key = secret(.erasureKey, .erasureKeyFile)
        if setting(.erasureKey) == nil, setting(.erasureKeyFile) == nil { _ = requiredSetting(.erasureKey) }
        let list = requiredSetting(.erasureList)
        guard let key, let list, let path = reader.text(list, most: 4_096) else { return nil }
        guard let read = ErasureKey(key.text) else {
            reader.complain(
                key.place,
                LocalizedText(
                    en: "must be at least \(ErasureKey.minimumLength) bytes, is \(key.text.utf8.count)",
                    zh: "至少为 \(ErasureKey.minimumLength) 字节，现在是 \(key.text.utf8.count)"))
            return nil
        }
        return ErasureSettings(key: read, list: resolve(path, from: list.base))
    }
}
