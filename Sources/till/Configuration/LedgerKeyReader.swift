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
            complainOfLength(key.place, key.text, least: ErasureKey.minimumLength)
            return nil
        }
        return ErasureSettings(key: read, list: resolve(path, from: list.base))
    }

    /// `seals.key` or `seals.keyFile`.
    mutating func readSealKey() -> SealKey? {
        guard let key = secret(.sealKey, .sealKeyFile) else { return nil }
        guard let read = SealKey(key.text) else {
            complainOfLength(key.place, key.text, least: SealKey.minimumLength)
            return nil
        }
        return read
    }

    private mutating func complainOfLength(_ place: SettingLocation, _ text: String, least: Int) {
        reader.complain(
            place,
            LocalizedText(
                en: "must be at least \(least) bytes, is \(text.utf8.count)",
                zh: "至少为 \(least) 字节，现在是 \(text.utf8.count)"))
    }
}
