import Foundation
import TillAppStore

/// A phone with LearnPoints, the unmodified example app: its Apple Account, and the users of the app.
struct Phone: Sendable {
    let number: Int
    /// `identifierForVendor`, which is the same after a reinstallation here.
    let device: UUID
    /// The Apple Account. One customer may have two phones.
    let account: String
    /// The StoreKit generation that the app uses, 1 or 2.
    let generation: Int
    let users: [String]

    /// Ten phones of seven customers, with one to three users each; some customers have two phones.
    static let all: [Phone] = (0..<10).map { number in
        let customer = number % 7
        let users = (0...(number % 3)).map { "u\(customer)-\($0)" }
        return Phone(
            number: number, device: UUID(uuidString: "00000000-0000-4000-8000-00000000000\(number)") ?? UUID(),
            account: "customer\(customer)", generation: number % 2 + 1,
            // One user uses the app on two customers' phones.
            users: number == 5 || number == 6 ? users + ["traveller"] : users)
    }

    static let accounts = Array(Set(all.map(\.account))).sorted()

    /// The app's files on the phone.
    func files(in directory: SoakDirectory) -> URL {
        directory.phones.appendingPathComponent("\(number)/app", isDirectory: true)
    }
    private func log(in directory: SoakDirectory) -> URL {
        directory.phones.appendingPathComponent("\(number)/app.log")
    }

    /// Starts the app with a signed-in user.
    func launch(_ user: String, _ keys: SoakDirectory.Keys, in directory: SoakDirectory, server: String, store: String)
        throws -> Child
    {
        try FileManager.default.createDirectory(at: files(in: directory), withIntermediateDirectories: true)
        return try Child(
            directory.app,
            [
                "--server", server, "--user", user, "--token", keys.token(of: user), "--directory",
                files(in: directory).path, "--storekit", String(generation), "--lang", "en", "--json",
            ],
            environment: [
                "TILL_STORE": store, "TILL_STORE_ACCOUNT": account, "TILL_STORE_DEVICE": device.uuidString,
                "TILL_STORE_BUNDLE_ID": SoakCatalog.bundleID, "TILL_STORE_DIRECTORY": files(in: directory).path,
                // No proxy between the two, whatever the machine's settings are.
                "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
            ],
            log: log(in: directory))
    }

    /// Deletes the app with all its files.
    func deleteApp(in directory: SoakDirectory) throws { try FileManager.default.removeItem(at: files(in: directory)) }
}
