import Foundation
import TillAppStore
import TillBilling
import TillCrypto

/// A directory with the files of a measured server and its load: a configuration, a trusted root, and, for a benchmark,
/// transactions signed in advance.
struct LoadSet {
    static let bundleID = "com.example.learn"
    static let productID = "com.example.learn.points60"
    static let monthlyID = "com.example.learn.monthly"
    static let pointsEach: Int64 = 60
    static let users = ProcessInfo.processInfo.environment["USERS"].flatMap { Int($0) } ?? 100
    /// One key posts everything, so its limit is switched off.
    static let secretKey = "sk_load_0123456789abcdef0123456789abcdef"

    let directory: URL

    init(_ path: String) { directory = URL(fileURLWithPath: path, isDirectory: true) }

    var configuration: String { directory.appendingPathComponent("till.json").path }
    var ledger: String { directory.appendingPathComponent("till.db").path }
    /// Contains the process id of the server that runs here, so that a clean-up can end it.
    var processID: URL { directory.appendingPathComponent("server.pid") }
    var root: [UInt8] { get throws { [UInt8](try Data(contentsOf: file("root.cer"))) } }

    static func user(_ number: Int) -> String { "user-\(number % users)" }

    /// The order with this number. The id is always the same, so that orders and proofs can be created separately. The
    /// ids are spread over the whole range like random ones: ascending ids would make a database look faster.
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

    private func file(_ name: String) -> URL { directory.appendingPathComponent(name) }

    // MARK: Creation

    /// Writes the files that a server needs to start here and to trust the issuer.
    func prepare(_ issuer: LoadIssuer) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(issuer.root).write(to: file("root.cer"))
        try Data(Self.catalog.utf8).write(to: file("catalog.json"))
        try Data(Self.settings.utf8).write(to: URL(fileURLWithPath: configuration))
    }

    /// Also writes `count` signed transactions in order of their numbers. All share one header, which contains the
    /// certificates and is four fifths of each transaction; the first line contains the header, each further line the
    /// rest of one transaction.
    func make(count: Int) throws {
        let issuer = try LoadIssuer()
        try prepare(issuer)
        let unfinished = file("proofs.unfinished")
        _ = FileManager.default.createFile(atPath: unfinished.path, contents: nil)
        let handle = try FileHandle(forWritingTo: unfinished)
        defer { try? handle.close() }
        for first in stride(from: 0, to: count, by: 1_000) {
            var lines = ""
            for number in first..<min(first + 1_000, count) {
                let proof = try issuer.proof(number)
                guard let dot = proof.utf8.firstIndex(of: UInt8(ascii: ".")) else { throw LoadError("no token") }
                if number == 0 { lines += proof[...dot] + "\n" }
                lines += proof[proof.utf8.index(after: dot)...] + "\n"
            }
            try handle.write(contentsOf: Data(lines.utf8))
        }
        try? FileManager.default.removeItem(at: file("proofs.txt"))
        try FileManager.default.moveItem(at: unfinished, to: file("proofs.txt"))
    }

    /// The files of `make`: the header with its dot, and the rest of each transaction.
    private func parts() throws -> (header: Substring, rests: ArraySlice<Substring>) {
        let text = try String(contentsOf: file("proofs.txt"), encoding: .utf8)
        let lines = text.split(separator: "\n")
        guard let header = lines.first else { throw LoadError("\(directory.path) has no proofs") }
        return (header, lines.dropFirst())
    }

    func proofCount() throws -> Int { try parts().rests.count }

    func proofs(_ numbers: Range<Int>) throws -> [String] {
        let (header, rests) = try parts()
        guard numbers.upperBound <= rests.count else { throw LoadError("there are only \(rests.count) proofs") }
        return rests.dropFirst(numbers.lowerBound).prefix(numbers.count).map { String(header + $0) }
    }

    private static let tokenSecret = "a secret of the load's user tokens, 0123456789abcdef"

    /// A user token that is valid for a day.
    static func token(of user: String) -> String {
        let expires = Int(Date().timeIntervalSince1970) + 86_400
        let parts = [#"{"alg":"HS256"}"#, #"{"sub":"\#(user)","exp":\#(expires)}"#]
        let text = parts.map { Base64.encode($0.utf8, .url) }.joined(separator: ".")
        return text + "." + Base64.encode(HMACSHA256.code(for: text.utf8, key: Array(tokenSecret.utf8)), .url)
    }

    static let catalog = """
        {"products":[{"id":"\(productID)","type":"Consumable","names":{"en":"60 points","zh":"60 学点"},\
        "price":{"amount":600,"currency":"CNY"},"points":{"points":\(pointsEach)}},\
        {"id":"\(monthlyID)","type":"Auto-Renewable Subscription","names":{"en":"Monthly","zh":"包月"},\
        "price":{"amount":600,"currency":"CNY"},"entitlement":"pro"}]}
        """

    private static var settings: String {
        let hash = Digest.sha256.hash(secretKey.utf8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        return """
            {"listen":"127.0.0.1:0","database":"sqlite:till.db","catalog":"catalog.json",\
            "apple":{"bundleId":"\(bundleID)","environments":["Sandbox"],"roots":["root.cer"]},\
            "secretKeys":[{"id":"load","sha256":"\(hash.joined())"}],\
            "userTokens":[{"id":"load","algorithm":"HS256","secret":"\(tokenSecret)"}],\
            "limits":{"keyPerSecond":1000000,"keyBurst":1000000}}
            """
    }
}

struct LoadError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
