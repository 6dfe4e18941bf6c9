import TillBilling
import TillJSON

/// When the last backup was made, in a file beside the ledger: a copy of the ledger can't contain it.
struct BackupNote: Sendable, Hashable {
    let file: String
    let takenAt: Instant
    let bytes: Int64

    private static func path(_ ledger: String) -> String { ledger + "-backup" }

    init(file: String, takenAt: Instant, bytes: Int64) {
        (self.file, self.takenAt, self.bytes) = (file, takenAt, bytes)
    }

    /// Nil if no backup was made, or the note can't be read.
    init?(ofLedger ledger: String) {
        guard let bytes = try? readFile(Self.path(ledger), limit: 8_192), let note = try? JSONValue(decoding: bytes),
            let file = note["file"]?.string, let size = note["bytes"]?.int,
            let taken = note["takenAt"]?.string.flatMap({ Instant(rfc3339: $0) })
        else { return nil }
        self.init(file: file, takenAt: taken, bytes: size)
    }

    func write(ofLedger ledger: String) throws(FileError) {
        let note: JSONValue = ["file": .string(file), "takenAt": .string(takenAt.rfc3339), "bytes": .int(bytes)]
        try replaceFile(Self.path(ledger), mode: 0o600, Array((note.encoded() + "\n").utf8))
    }
}
