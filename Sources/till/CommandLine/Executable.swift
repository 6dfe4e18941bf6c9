import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file and the arguments that a process was started with.
struct ProgramStart: Sendable {
    /// An absolute path. Symbolic links are kept, so that a link that names a newer program leads to it.
    let path: String
    /// The program's own name first.
    let arguments: [String]

    /// Read it when the process starts: later the file may be replaced, and the system no longer knows its name.
    static func ofProcess() -> ProgramStart {
        let arguments = CommandLine.arguments
        let own = (try? Executable.own()) ?? ""
        guard let name = arguments.first, name.contains("/") else {
            return ProgramStart(path: own, arguments: arguments)
        }
        return ProgramStart(path: name.hasPrefix("/") ? name : workingDirectory() + "/" + name, arguments: arguments)
    }

    private static func workingDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }
}

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
