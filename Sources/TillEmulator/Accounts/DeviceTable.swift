import TillBilling
import TillSQL

/// A phone or computer that is signed in to an Apple Account.
public struct StoreDevice: Sendable, Hashable {
    public enum Platform: String, Sendable, Hashable, CaseIterable {
        case iOS
        case macOS
        case tvOS
        case visionOS
    }

    /// `identifierForVendor`.
    public var id: UniqueID
    /// The account that is signed in.
    public var account: String
    public var name: String
    public var platform: Platform
    /// `AppStore.deviceVerificationID`: what the device proves with that a signed transaction was made for it
    /// (facts/jws §2).
    public var verificationID: UniqueID
}

/// Which devices there are, and who is signed in on them.
enum DeviceTable {
    /// Many more than Apple lets one account have; enough for any test.
    static let limit: Int64 = 100

    /// Writes the device as it is now, new or not. What it verifies itself with never changes.
    static func save(_ device: StoreDevice, _ session: any Connection) throws {
        try session.execute(
            """
            INSERT INTO devices (id, account, name, platform, verification_id) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                account = excluded.account, name = excluded.name, platform = excluded.platform
            """,
            [
                .text(device.id.description), .text(device.account), .text(device.name),
                .text(device.platform.rawValue), .text(device.verificationID.description),
            ])
    }

    static func find(_ id: UniqueID, _ session: any Connection) throws -> StoreDevice? {
        try session.first(
            "SELECT id, account, name, platform, verification_id FROM devices WHERE id = ?",
            [.text(id.description)], read) ?? nil
    }

    static func ofAccount(_ account: String, _ session: any Connection) throws -> [StoreDevice] {
        try session.query(
            """
            SELECT id, account, name, platform, verification_id FROM devices WHERE account = ? ORDER BY id LIMIT ?
            """, [.text(account), .integer(limit)], read
        ).compactMap { $0 }
    }

    static func count(ofAccount account: String, _ session: any Connection) throws -> Int64 {
        try session.first(
            "SELECT count(*) AS count FROM devices WHERE account = ?", [.text(account)]
        ) { $0.integer("count") } ?? 0
    }

    private static func read(_ row: any Row) -> StoreDevice? {
        guard let id = UniqueID(row.text("id")), let platform = StoreDevice.Platform(rawValue: row.text("platform")),
            let verificationID = UniqueID(row.text("verification_id"))
        else { return nil }
        return StoreDevice(
            id: id, account: row.text("account"), name: row.text("name"), platform: platform,
            verificationID: verificationID)
    }
}
