import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator

/// A directory with everything a measured server and its load need: a configuration, a root of its own, and as many
/// paid orders as asked for, each with its signed transaction.
struct LoadSet {
    static let bundleID = "com.example.learn"
    static let productID = "com.example.learn.points60"
    static let pointsEach: Int64 = 60
    static let users = 100
    static let secretKey = "sk_load_0123456789abcdef0123456789abcdef"

    let directory: URL

    init(_ path: String) { directory = URL(fileURLWithPath: path, isDirectory: true) }

    var configuration: String { directory.appendingPathComponent("till.json").path }
    var ledger: String { directory.appendingPathComponent("till.db").path }
    var root: [UInt8] { get throws { [UInt8](try Data(contentsOf: directory.appendingPathComponent("root.cer"))) } }

    static func user(_ number: Int) -> String { "user-\(number % users)" }

    /// The order of a number: always the same id, so that orders and proofs can be made apart.
    /// Spread over all there are, as random ids are: a database that only met ascending ones would look quicker.
    static func order(_ number: Int) -> UniqueID {
        func mixed(_ value: UInt64) -> UInt64 {
            var mixed = value &* 0x9E37_79B9_7F4A_7C15
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
        let seed = UInt64(number) + 1
        return UniqueID(high: mixed(seed), low: mixed(seed | 1 << 40))
    }

    /// Signed transactions, one a line, in the order of their numbers.
    func proofs() throws -> [String] {
        let text = try String(contentsOf: directory.appendingPathComponent("proofs.txt"), encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    // MARK: Making

    func make(count: Int) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let issuer = try Issuer.found(at: now) { RandomBytes.make(16) }
        try Data(issuer.rootCertificate).write(to: directory.appendingPathComponent("root.cer"))
        try write("catalog.json", Self.catalog)
        try write("till.json", Self.settings)
        let file = directory.appendingPathComponent("proofs.txt")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for first in stride(from: 0, to: count, by: 1_000) {
            var lines = ""
            for number in first..<min(first + 1_000, count) {
                lines += try issuer.sign(payload: Array(Self.payload(number, now).utf8)) + "\n"
            }
            try handle.write(contentsOf: Data(lines.utf8))
        }
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: directory.appendingPathComponent(name))
    }

    /// What Apple signs about a consumable (facts/jws §4), about a kilobyte of it.
    private static func payload(_ number: Int, _ now: Instant) -> String {
        let id = 2_000_000_600_000_000 + number
        let bought = now.milliseconds - 60_000
        return """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(bundleID)",\
            "productId":"\(productID)","purchaseDate":\(bought),"originalPurchaseDate":\(bought),\
            "quantity":1,"type":"Consumable","appAccountToken":"\(order(number))",\
            "inAppOwnershipType":"PURCHASED","signedDate":\(bought + 500),"environment":"Sandbox",\
            "transactionReason":"PURCHASE","storefront":"CHN","storefrontId":"143465","price":6000,\
            "currency":"CNY","appTransactionId":"704312345678901234"}
            """
    }

    private static let catalog = """
        {"products":[{"id":"\(productID)","type":"Consumable","names":{"en":"60 points","zh":"60 学点"},\
        "price":{"amount":600,"currency":"CNY"},"points":{"points":\(pointsEach)}}]}
        """

    private static var settings: String {
        let hash = Digest.sha256.hash(secretKey.utf8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        return """
            {"listen":"127.0.0.1:0","database":"sqlite:till.db","catalog":"catalog.json",\
            "apple":{"bundleId":"\(bundleID)","environments":["Sandbox"],"roots":["root.cer"]},\
            "secretKeys":[{"id":"load","sha256":"\(hash.joined())"}]}
            """
    }
}
