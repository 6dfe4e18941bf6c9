import Foundation

/// Where the shelf is kept for the next launch. It may be lost at any time: then the shop waits for the server, as on
/// the first day.
package struct CatalogueFile: Sendable {
    /// What was kept; nil if there is nothing, or more than anybody wrote.
    package var read: @Sendable () -> [UInt8]?
    /// Puts new contents in the old ones' place, or leaves the old ones.
    package var replace: @Sendable ([UInt8]) -> Void

    package init(read: @escaping @Sendable () -> [UInt8]?, replace: @escaping @Sendable ([UInt8]) -> Void) {
        self.read = read
        self.replace = replace
    }

    /// A file of this device. Two instances of an app may share it: the last one wins.
    package static func file(at path: String) -> CatalogueFile {
        CatalogueFile(
            read: {
                guard let file = FileHandle(forReadingAtPath: path) else { return nil }
                defer { try? file.close() }
                let limit = CatalogueRecord.byteLimit
                guard let data = try? file.read(upToCount: limit + 1), data.count <= limit else { return nil }
                return [UInt8](data)
            },
            replace: { bytes in
                // Without it the next launch only waits a little longer for its shop page.
                try? Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
            })
    }

    /// Nothing is kept.
    package static let none = CatalogueFile(read: { nil }, replace: { _ in })
}
