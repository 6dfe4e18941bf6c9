import TillBilling
import TillJSON
import TillServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a running server tells the commands beside it: a small file next to the ledger, `<ledger>-server`, readable by
/// its own user only. It contains no secret, and a server starts without it.
struct ServerState: Codable, Sendable {
    /// The id of the server's process.
    var process: Int32
    /// The last reload; nil before the first.
    var reload: ReloadReport?
    /// When each key was last accepted, at most an hour behind.
    var keyUses: [KeyUse] = []

    struct KeyUse: Codable, Sendable, Hashable {
        let list: KeyUses.Kind
        let id: String
        let lastUsedAt: Instant
    }

    var uses: [KeyUses.Key: Instant] {
        get {
            Dictionary(
                keyUses.map { (KeyUses.Key(kind: $0.list, id: $0.id), $0.lastUsedAt) }, uniquingKeysWith: max)
        }
        set {
            keyUses = newValue.map { KeyUse(list: $0.key.kind, id: $0.key.id, lastUsedAt: $0.value) }
                .sorted { ($0.list.rawValue, $0.id) < ($1.list.rawValue, $1.id) }
        }
    }

    private static let maximumBytes = 1 << 20

    static func path(ofLedger ledger: String) -> String { ledger + "-server" }

    /// Nil if no server has written one, or it can't be read.
    static func read(besideLedger ledger: String) -> ServerState? {
        guard let bytes = try? readFile(path(ofLedger: ledger), limit: maximumBytes) else { return nil }
        return try? JSONDecoder().decode(ServerState.self, from: Data(bytes))
    }

    func write(besideLedger ledger: String) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        // None of these values can fail to encode.
        let bytes = (try? encoder.encode(self)).map(Array.init) ?? []
        try replaceFile(Self.path(ofLedger: ledger), mode: 0o600, bytes)
    }
}

/// The result of one reload, for the log, for stderr and for `till reload`.
struct ReloadReport: Codable, Sendable, Hashable {
    enum Outcome: String, Codable, Sendable {
        /// The server runs the new configuration.
        case reloaded
        /// The configuration is the one that the server runs already.
        case unchanged
        /// Nothing has changed.
        case refused
    }

    let outcome: Outcome
    /// What changed; with `refused`, the reasons.
    let lines: [LocalizedText]
    /// What is probably insecure or ends soon, and was not before.
    var warnings: [LocalizedText] = []
    /// When the server began to read the configuration, in nanoseconds of the machine's monotonic clock.
    var begunAt: UInt64 = 0

    static func refused(_ reasons: [LocalizedText]) -> ReloadReport {
        ReloadReport(outcome: .refused, lines: reasons)
    }
}

/// Nanoseconds of the machine's monotonic clock, which all processes share.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
