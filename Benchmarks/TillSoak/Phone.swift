import Foundation
import TillAppStore

/// A phone with LearnPoints on it, the example app as it is: who its customer is at Apple, and who uses the app.
struct Phone: Sendable {
    let number: Int
    /// `identifierForVendor`: the phone stays the same when the app is reinstalled.
    let device: UUID
    /// The Apple Account. Two phones may be one customer's.
    let account: String
    /// Which StoreKit the app buys through, 1 or 2.
    let generation: Int
    let users: [String]

    /// Ten phones of seven customers, with one to three users each; some of them use two phones.
    static let all: [Phone] = (0..<10).map { number in
        let customer = number % 7
        let users = (0...(number % 3)).map { "u\(customer)-\($0)" }
        return Phone(
            number: number, device: UUID(uuidString: "00000000-0000-4000-8000-00000000000\(number)") ?? UUID(),
            account: "customer\(customer)", generation: number % 2 + 1,
            // One person uses the app on two customers' phones.
            users: number == 5 || number == 6 ? users + ["traveller"] : users)
    }

    static let accounts = Array(Set(all.map(\.account))).sorted()

    /// What the app keeps on it.
    func files(in place: Place) -> URL { place.phones.appendingPathComponent("\(number)/app", isDirectory: true) }
    private func log(in place: Place) -> URL { place.phones.appendingPathComponent("\(number)/app.log") }

    /// Starts the app with somebody signed in.
    func launch(_ user: String, _ keys: Place.Keys, in place: Place, server: String, store: String) throws -> Child {
        try FileManager.default.createDirectory(at: files(in: place), withIntermediateDirectories: true)
        return try Child(
            place.app,
            [
                "--server", server, "--user", user, "--token", keys.token(of: user), "--directory",
                files(in: place).path, "--storekit", String(generation), "--lang", "en", "--json",
            ],
            environment: [
                "TILL_STORE": store, "TILL_STORE_ACCOUNT": account, "TILL_STORE_DEVICE": device.uuidString,
                "TILL_STORE_BUNDLE_ID": Goods.bundleID, "TILL_STORE_DIRECTORY": files(in: place).path,
                // Nobody between the two, whatever the machine's way out is.
                "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
            ],
            log: log(in: place))
    }

    /// Takes the app off the phone, with all that it kept there.
    func deleteApp(in place: Place) throws { try FileManager.default.removeItem(at: files(in: place)) }
}
