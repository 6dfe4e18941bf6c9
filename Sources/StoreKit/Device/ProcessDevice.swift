import Foundation
import TillBilling
import TillCrypto

/// The device of this process, configured by its environment:
///
///     TILL_STORE            the address of `till emulate`; http://127.0.0.1:8789 if absent
///     TILL_STORE_ACCOUNT    the Apple Account; "default" if absent
///     TILL_STORE_DEVICE     identifierForVendor, a UUID; derived from the account's name if absent
///     TILL_STORE_BUNDLE_ID  the app; com.example.learn, the default of `till emulate`, if absent
///     TILL_STORE_DIRECTORY  the directory of the app's receipt; under the temporary directory if absent
///     TILL_STORE_CONSUMABLE_HISTORY  1: `SKIncludeConsumableInAppPurchaseHistory`, for programs without an Info.plist
extension EmulatedDevice {
    static let process: EmulatedDevice = {
        let environment = ProcessInfo.processInfo.environment
        let account = environment["TILL_STORE_ACCOUNT"] ?? "default"
        let id = environment["TILL_STORE_DEVICE"].flatMap { UUID(uuidString: $0) } ?? named(account)
        let bundleID = environment["TILL_STORE_BUNDLE_ID"] ?? "com.example.learn"
        let directory =
            environment["TILL_STORE_DIRECTORY"].map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-device-\(id)/\(bundleID)")
        return EmulatedDevice(
            id: id, account: account, bundleID: bundleID, connection: connection(environment["TILL_STORE"]),
            directory: directory)
    }()

    static let wantsConsumableHistory: Bool =
        Bundle.main.object(forInfoDictionaryKey: "SKIncludeConsumableInAppPurchaseHistory") as? Bool
        ?? (ProcessInfo.processInfo.environment["TILL_STORE_CONSUMABLE_HISTORY"] == "1")

    private static func connection(_ url: String?) -> StoreConnection {
        if let connection = try? StoreConnection.http(url ?? "http://127.0.0.1:8789") { return connection }
        return .inProcess { _ in .hangUp }
    }

    /// The same account always gets the same device.
    private static func named(_ account: String) -> UUID {
        let hash = Digest.sha256.hash(Array("till-device:\(account)".utf8))
        var bytes = Array(hash.prefix(16))
        // RFC 9562 §5.8: a UUID of version 8, with custom content.
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return UUID(bytes)
    }
}

extension UUID {
    /// - Parameter bytes: 16 bytes; missing ones are 0.
    init(_ bytes: [UInt8]) {
        var uuid = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes.prefix(16)) }
        self.init(uuid: uuid)
    }
}

extension StoreEffects {
    /// The effects of an app that runs as its own process.
    public static var process: StoreEffects {
        StoreEffects(
            pause: { milliseconds in try? await Task.sleep(for: .milliseconds(milliseconds)) },
            entropy: RandomBytes.make,
            spawn: { work in Task { await work() } },
            callback: { call in await MainActor.run { call() } })
    }
}

/// The app's receipt on the device: absent until the first purchase or refresh, then as of the last one.
struct ReceiptFile: Sendable {
    let url: URL

    func replace(with receipt: Data) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try receipt.write(to: url, options: .atomic)
    }
}
