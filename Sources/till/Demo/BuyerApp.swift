import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A buyer's app: the program `learnpoints` in the directory of this program.
struct BuyerApp: Sendable {
    /// The name of the product in this package.
    static let program = "learnpoints"

    let executable: String
    let user: UserID
    let token: String
    /// The purchase server, or a `DemoProxy` to it.
    let server: String
    /// The emulated App Store.
    let store: String
    /// The version of StoreKit, 1 or 2.
    let generation: Int
    /// The directory of this device's files.
    let directory: String
    let language: Language
    let inherited: [String: String]

    var arguments: [String] {
        [
            "--server", server, "--user", user.text, "--token", token, "--directory", directory, "--storekit",
            String(generation), "--lang", language.rawValue, "--json",
        ]
    }

    /// The emulated device is configured by the environment, because an app does not know which App Store it buys from.
    var environment: [String: String] {
        let device = [
            "TILL_STORE": store, "TILL_STORE_ACCOUNT": user.text, "TILL_STORE_BUNDLE_ID": DemoShop.bundleID,
            "TILL_STORE_DIRECTORY": resolve("store", from: directory),
            // No proxy between the two, whatever the machine's settings are.
            "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
        ]
        return inherited.filter { !$0.key.hasPrefix("TILL_STORE") }.merging(device) { $1 }
    }

    /// The command that runs this buyer's app.
    func commandLine(from current: String?) -> String {
        var path = executable
        if let current, path.hasPrefix(current + "/") { path.removeFirst(current.count + 1) }
        return """
            TILL_STORE=\(store) TILL_STORE_ACCOUNT=\(user) \\
                \(path) --server \(server) --user \(user) \\
                --directory \(directory) \\
                --token \(token)
            """
    }

    /// - Throws: `CommandError` with the command that builds it.
    static func found() throws -> String {
        let path = try Executable.ownDirectory() + "/" + program
        guard access(path, X_OK) == 0 else {
            throw CommandError(
                LocalizedText(
                    en: "the buyers' app is missing: \(shown(path)). Build it: swift build --product \(program)",
                    zh: "缺少买家的 App：\(shown(path))。请先编译：swift build --product \(program)"))
        }
        return path
    }
}

extension ChildProcess {
    static func start(_ app: BuyerApp) throws -> ChildProcess {
        try start(app.executable, [BuyerApp.program] + app.arguments, environment: app.environment)
    }
}
