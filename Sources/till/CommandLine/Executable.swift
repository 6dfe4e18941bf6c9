import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of this program.
enum Executable {
    static func own() throws -> String {
        var path = [CChar](repeating: 0, count: 4_096)
        #if os(Linux)
            let length = readlink("/proc/self/exe", &path, path.count - 1)
            guard length > 0 else { throw notFound }
        #else
            var size = UInt32(path.count)
            guard _NSGetExecutablePath(&path, &size) == 0 else { throw notFound }
        #endif
        return String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Its directory.
    static func ownDirectory() throws -> String {
        let path = try own()
        guard let slash = path.lastIndex(of: "/") else { throw notFound }
        return String(path[..<slash])
    }

    private static var notFound: CommandError {
        CommandError(LocalizedText(en: "the executable file of this program can't be found", zh: "找不到本程序自身的文件"))
    }
}
