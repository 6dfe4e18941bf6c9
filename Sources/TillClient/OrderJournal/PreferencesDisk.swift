import Foundation

extension Disk {
    /// A few bytes among the app's preferences, which an Apple TV keeps when it empties the caches. At most 500 KB fit
    /// there.
    ///
    /// - Parameter suite: the suite of the preferences; nil for the app's own.
    static func preferences(_ key: String, suite: String? = nil) -> Disk {
        // `UserDefaults` is not sendable on every system, so each call asks for it.
        @Sendable func read() -> [UInt8] { [UInt8](preferences(of: suite).data(forKey: key) ?? Data()) }
        @Sendable func write(_ bytes: [UInt8], _ key: String) { preferences(of: suite).set(Data(bytes), forKey: key) }
        return Disk(
            read: { () throws(DiskError) in read() },
            write: { (bytes, offset) throws(DiskError) in write(read().prefix(offset) + bytes, key) },
            replace: { (bytes) throws(DiskError) in write(bytes, key) },
            setAside: { () throws(DiskError) in write(read(), key + "-damaged") })
    }

    private static func preferences(of suite: String?) -> UserDefaults {
        suite.flatMap(UserDefaults.init(suiteName:)) ?? .standard
    }
}
