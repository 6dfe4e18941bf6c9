import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a file could not be read or created.
struct FileError: Error, Hashable {
    let path: String
    let reason: LocalizedText

    var sentence: LocalizedText { LocalizedText(en: "\(shown(path)): \(reason.en)", zh: "\(shown(path))：\(reason.zh)") }
}

/// A whole file of at most `limit` bytes.
func readFile(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw FileError(path, errno) }
    defer { close(descriptor) }
    guard let content = readAll(from: descriptor, limit: limit) else { throw FileError(path, errno) }
    guard content.count <= limit else {
        throw FileError(
            path: path, reason: LocalizedText(en: "is longer than \(limit) bytes", zh: "超过 \(limit) 字节"))
    }
    return content
}

/// Creates a file that must not exist yet, with the permissions of `mode` from the first moment.
func createFile(_ path: String, mode: mode_t, _ content: [UInt8]) throws(FileError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard descriptor >= 0 else { throw FileError(path, errno) }
    var failure: Int32 = 0
    content.withUnsafeBytes { bytes in
        var rest = bytes
        while !rest.isEmpty, failure == 0 {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR {
                failure = errno
            }
        }
    }
    if failure == 0, fsync(descriptor) != 0 { failure = errno }
    if close(descriptor) != 0, failure == 0 { failure = errno }
    if failure != 0 { throw FileError(path, failure) }
}

/// Replaces a file in one step: a reader sees the old or the new content, also after a power cut.
///
/// - Parameter owner: the new file's owner and group; those of this process if nil.
func replaceFile(
    _ path: String, mode: mode_t, owner: (user: uid_t, group: gid_t)? = nil, _ content: [UInt8]
) throws(FileError) {
    let new = path + ".new"
    unlink(new)
    try createFile(new, mode: 0o600, content)
    var failure: Int32 = 0
    if let owner, chown(new, owner.user, owner.group) != 0 { failure = errno }
    if failure == 0, chmod(new, mode) != 0 { failure = errno }
    if failure == 0, rename(new, path) != 0 { failure = errno }
    guard failure == 0 else {
        unlink(new)
        throw FileError(path, failure)
    }
    let folder = open(directory(of: path), O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
}

func removeFile(_ path: String) { unlink(path) }

/// Creates a directory and its missing parents.
///
/// - Parameter mode: of the directory itself; its parents are readable by all users.
func createDirectory(_ path: String, mode: mode_t = 0o755) throws(FileError) {
    if fileExists(path) { return }
    let parent = directory(of: path)
    if parent != path, parent != "." { try createDirectory(parent) }
    if mkdir(path, mode) != 0, errno != EEXIST { throw FileError(path, errno) }
}

/// Whether a file of any kind has this name, a dangling symbolic link included.
func fileExists(_ path: String) -> Bool {
    var facts = stat()
    return lstat(path, &facts) == 0
}

/// Whether users other than a file's owner may read or write it. False if it is not a regular file.
func isOpenToOthers(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && facts.st_mode & 0o077 != 0
}

func isDirectory(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
}

/// The names of the entries of a directory, without `.` and `..`.
func fileNames(in folder: String) throws(FileError) -> [String] {
    guard let entries = opendir(folder) else { throw FileError(folder, errno) }
    defer { closedir(entries) }
    var names: [String] = []
    while let entry = readdir(entries) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// The bytes of a file; nil if there is none.
func fileSize(_ path: String) -> Int64? {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : nil
}

/// The directory of a file: `.` for a bare name.
func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// `path` relative to `base`, unless it is absolute.
func resolve(_ path: String, from base: String) -> String {
    path.hasPrefix("/") || base == "." ? path : base.hasSuffix("/") ? base + path : base + "/" + path
}

extension FileError {
    init(_ path: String, _ number: Int32) {
        self.path = path
        switch number {
        case ENOENT: reason = LocalizedText(en: "there is no such file", zh: "文件不存在")
        case EACCES, EPERM: reason = LocalizedText(en: "permission denied", zh: "没有权限")
        case EISDIR: reason = LocalizedText(en: "is a directory", zh: "是一个目录")
        case ENOTDIR: reason = LocalizedText(en: "a part of the path is not a directory", zh: "路径中有一段不是目录")
        case EEXIST: reason = LocalizedText(en: "already exists", zh: "已经存在")
        case ENOSPC: reason = LocalizedText(en: "no space left on the device", zh: "磁盘已满")
        case EROFS: reason = LocalizedText(en: "the file system is read-only", zh: "文件系统只读")
        default:
            reason = LocalizedText(strerror(number).map { String(cString: $0) } ?? "errno \(number)")
        }
    }
}
