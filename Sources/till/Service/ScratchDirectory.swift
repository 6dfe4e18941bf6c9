import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where a service keeps its files: a directory that was asked for, or one of its own that goes when the service does.
struct ScratchDirectory: Sendable {
    let path: String
    let isTemporary: Bool

    /// - Parameter wanted: made if it is missing; nil for a temporary one.
    init(_ wanted: String?, environment: [String: String]) throws(CommandFailure) {
        if let wanted {
            do throws(FileFault) { try createDirectory(wanted) } catch { throw CommandFailure(error.sentence) }
            path = wanted
            isTemporary = false
            return
        }
        let parent = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array(resolve("till-XXXXXX", from: parent).utf8CString)
        guard mkdtemp(&template) != nil else { throw CommandFailure(FileFault(parent, errno).sentence) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        isTemporary = true
    }

    func file(_ name: String) -> String { resolve(name, from: path) }

    /// Removes a temporary directory with all that is in it.
    func remove() {
        if isTemporary { Self.remove(path) }
    }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name == "." || name == ".." { continue }
            let child = resolve(name, from: path)
            // What is no directory is unlinked; a symbolic link is never followed.
            if unlink(child) != 0 { remove(child) }
        }
        closedir(directory)
        rmdir(path)
    }
}
