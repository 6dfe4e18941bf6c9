import Foundation

/// The app's receipt on the device: absent until the first purchase or refresh, then as old as the last of them.
struct ReceiptFile: Sendable {
    let url: URL

    func replace(with receipt: Data) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try receipt.write(to: url, options: .atomic)
    }
}
