import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The entitlements of the signed-in user, as far as this device knows them.
public struct EntitlementSnapshot: Hashable, Sendable {
    /// The entitlements of the server's last answer, and those of a payment that the server has not answered yet. One
    /// that has ended since stays in the list until the next answer.
    public let items: [Entitlement]
    /// When the server last answered for this user, by this device's clock; nil if it never did on this device.
    public let updatedAt: Date?
    /// How long a renewable subscription stays usable after its end without a newer answer, in seconds.
    let grace: TimeInterval

    init(items: [Entitlement] = [], updatedAt: Date? = nil, grace: TimeInterval = 0) {
        self.items = items
        self.updatedAt = updatedAt
        self.grace = grace
    }

    /// Returns whether an entitlement is usable at a time.
    func isEntitled(_ name: String, device: String?, at now: Date) -> Bool {
        items.contains { item in
            guard item.name == name, item.covers(device) else { return false }
            return usableUntil(item).map { now < $0 } ?? true
        }
    }

    /// The first moment without the entitlement if no newer answer arrives; nil for one that lasts. Only a subscription
    /// that renews by itself gets the grace: its renewal may have happened without this device.
    func usableUntil(_ item: Entitlement) -> Date? {
        guard let expires = item.expires else { return nil }
        return item.kind == .subscription && item.willRenew == true ? expires.addingTimeInterval(grace) : expires
    }
}

extension Entitlement {
    /// Whether the entitlement covers a device; one without a list of devices covers all.
    func covers(_ device: String?) -> Bool {
        guard let deviceIDs else { return true }
        return device.map(deviceIDs.contains) ?? false
    }
}

/// The server's last answer about a user's entitlements, kept on the device.
struct EntitlementRecord: Codable, Hashable, Sendable {
    let userID: String
    /// By this device's clock.
    let updatedAt: Instant
    let rows: [EntitlementsResponse.Right]
}

/// The records of the users of this device, with the latest time that the device has shown since the server's last
/// answer: a clock that is set back does not bring an ended subscription back, and one that was wrong takes none away
/// for longer than to the next answer.
struct EntitlementFile: Codable, Hashable, Sendable {
    var server: String
    var latest: Instant
    /// The latest time that the file contains.
    var stored = Instant(milliseconds: 0)
    var records: [EntitlementRecord]

    static let byteLimit = 1 << 18
    /// The number of users whose records are kept.
    static let userLimit = 8

    init(server: String) {
        self.server = server
        latest = Instant(milliseconds: 0)
        records = []
    }

    /// Nil unless the bytes are complete and of this server.
    init?(_ bytes: [UInt8], server: String) {
        guard bytes.count > 4, bytes.count <= Self.byteLimit,
            CRC32C.checksum(bytes.dropFirst(4)) == bytes.prefix(4).reduce(0, { $0 << 8 | UInt32($1) }),
            let stored = try? JSONDecoder().decode(EntitlementFile.self, from: Data(bytes.dropFirst(4))),
            stored.server == server
        else { return nil }
        self = stored
        self.stored = latest
    }

    private enum CodingKeys: String, CodingKey { case server, latest, records }

    /// Four bytes of CRC-32C, then JSON; nil if the size exceeds the limit for reading.
    var bytes: [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self) else { return nil }
        let sum = CRC32C.checksum(data)
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
        return data.count + head.count <= Self.byteLimit ? head + data : nil
    }

    func record(of user: UserID) -> EntitlementRecord? { records.first { $0.userID == user.text } }

    mutating func keep(_ record: EntitlementRecord) {
        records.removeAll { $0.userID == record.userID }
        records.insert(record, at: 0)
        latest = record.updatedAt
        stored = latest
        if records.count > Self.userLimit { records.removeLast(records.count - Self.userLimit) }
    }
}
