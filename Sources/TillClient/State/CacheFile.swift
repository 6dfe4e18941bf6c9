import Foundation

/// A file whose loss costs a request only: the products and the entitlements of the last answer.
package struct CacheFile: Sendable {
    /// Reads the cached bytes; nil if there are none, or more than the kit ever writes.
    package var read: @Sendable () -> [UInt8]?
    /// Replaces the contents, or leaves the old ones in place on failure.
    package var replace: @Sendable ([UInt8]) -> Void

    package init(read: @escaping @Sendable () -> [UInt8]?, replace: @escaping @Sendable ([UInt8]) -> Void) {
        self.read = read
        self.replace = replace
    }

    /// A file on this device. If two instances of an app share it, the last write wins.
    private static let byteLimit = 1 << 20

    package static func file(at path: String) -> CacheFile {
        CacheFile(
            read: {
                guard let file = FileHandle(forReadingAtPath: path) else { return nil }
                defer { try? file.close() }
                let limit = CacheFile.byteLimit
                guard let data = try? file.read(upToCount: limit + 1), data.count <= limit else { return nil }
                return [UInt8](data)
            },
            replace: { bytes in
                // After a failure, only the next launch's shop page is slower.
                try? Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
            })
    }

    /// A cache that stores nothing.
    package static let none = CacheFile(read: { nil }, replace: { _ in })
}
