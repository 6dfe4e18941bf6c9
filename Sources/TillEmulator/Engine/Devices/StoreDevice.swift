import TillAppStore
import TillBilling
import TillCrypto
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
    /// `AppStore.deviceVerificationID`: proves that a signed transaction was made for this device (facts/jws §2).
    public var verificationID: UniqueID
}

/// The devices and the accounts signed in on them.
enum DeviceTable {
    static let columns: Columns = "id, account, name, platform, verification_id"

    /// Far above Apple's own limit for one account, and enough for any test.
    static let limit: Int64 = 100

    /// Inserts or updates the device. Its `verificationID` never changes.
    static func save(_ device: StoreDevice, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO devices (\(columns)) VALUES (\(marks: 5))
            ON CONFLICT (id) DO UPDATE SET
                account = excluded.account, name = excluded.name, platform = excluded.platform
            """,
            [
                .text(device.id.description), .text(device.account), .text(device.name),
                .text(device.platform.rawValue), .text(device.verificationID.description),
            ])
    }

    static func find(_ id: UniqueID, _ connection: any Connection) throws -> StoreDevice? {
        try connection.first(
            "SELECT \(columns) FROM devices WHERE id = ?",
            [.text(id.description)], read) ?? nil
    }

    static func ofAccount(_ account: String, _ connection: any Connection) throws -> [StoreDevice] {
        try connection.query(
            """
            SELECT \(columns) FROM devices WHERE account = ? ORDER BY id LIMIT ?
            """, [.text(account), .integer(limit)], read
        ).compactMap { $0 }
    }

    static func count(ofAccount account: String, _ connection: any Connection) throws -> Int64 {
        try connection.first(
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

/// The device-specific part of a transaction requested on a device: it proves that the transaction was signed for this
/// device and not copied from another (facts/jws §2, §4).
struct DeviceProof: Sendable, Hashable {
    let nonce: UniqueID
    /// SHA-384 over the nonce's text and the device's verification id, both in lower case.
    let digest: [UInt8]

    /// - Parameter nonce: a new one for each payload.
    init(_ device: StoreDevice, nonce: UniqueID) {
        self.nonce = nonce
        digest = Digest.sha384.hash(Array((nonce.description + device.verificationID.description).utf8))
    }

    var payload: DeviceProofPayload {
        var payload = DeviceProofPayload()
        payload.verification = Base64.encode(digest)
        payload.nonce = nonce.description
        return payload
    }
}

extension Issuer {
    /// The transaction signed for one device.
    func signedTransaction(_ transaction: StoreTransaction, for proof: DeviceProof, at now: Instant) throws -> String {
        try sign(SignedContent.transaction(transaction, signed: now), for: proof)
    }

    /// The renewal info signed for one device; `current` is the subscription's newest period.
    func signedRenewal(
        _ subscription: StoreSubscription, current: StoreTransaction, for proof: DeviceProof, at now: Instant
    ) throws -> String {
        try sign(SignedContent.renewal(subscription, current: current, signed: now), for: proof)
    }
}

extension StoreRefusal {
    static func unknownIntent(_ id: UniqueID) -> StoreRefusal {
        StoreRefusal(
            "unknown_intent", status: 404, "There is no purchase intent \(id) for this account and device.",
            "该账户与设备没有待处理的购买意向 \(id)。")
    }

    static func tooManyIntents(_ limit: Int) -> StoreRefusal {
        StoreRefusal(
            "too_many_intents", status: 409,
            "\(limit) purchase intents already wait for the app.",
            "已有 \(limit) 个购买意向等待 App 处理。")
    }

    static func unknownMessage(_ id: String) -> StoreRefusal {
        StoreRefusal(
            "unknown_message", status: 404, "There is no message \(id.prefix(100)) for this device's account.",
            "该设备的账户没有消息 \(id.prefix(100))。")
    }

    static func tooManyMessages(_ limit: Int) -> StoreRefusal {
        StoreRefusal(
            "too_many_messages", status: 409, "\(limit) messages already wait to be shown.",
            "已有 \(limit) 条消息等待显示。")
    }
}
