import Foundation
import Testing
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillServer

@testable import till

/// A shop behind two sockets, where the example apps buy as processes.
struct ShopAddress: Sendable {
    let shop: Shop
    private let server: String
    private let store: String
    private let bundleID: String
    /// The directory of the phones' files.
    private let folder: URL

    /// Opens the sockets of a shop, runs a journey, and closes them in every case.
    static func open(
        _ shop: Shop, bundleID: String = Shop.bundleID, _ journey: (ShopAddress) async throws -> Void
    ) async throws {
        let (server, store) = (shop.server.router, shop.emulator.router)
        let serverListener = try Listener(bodyLimit: server.bodyLimit(method:path:), handler: server.respond(to:))
        let storeListener = try Listener(bodyLimit: store.bodyLimit(method:path:), handler: shop.emulator.respond(to:))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-phones-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let address = ShopAddress(
            shop: shop, server: "http://127.0.0.1:\(serverListener.port)",
            store: "http://127.0.0.1:\(storeListener.port)", bundleID: bundleID, folder: folder)
        // The server hears of what happens in the store.
        _ = try await shop.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/"])
        do {
            try await journey(address)
        } catch {
            await serverListener.stop(grace: 1)
            await storeListener.stop(grace: 1)
            throw error
        }
        await serverListener.stop(grace: 1)
        await storeListener.stop(grace: 1)
    }

    /// The cloud service of `till init --sample plans` and `till emulate --sample plans`, behind sockets.
    ///
    /// - Parameter now: the time in the shop; the apps have the machine's time.
    static func openCloud(
        at now: Int64 = Int64(Date().timeIntervalSince1970), _ journey: (ShopAddress) async throws -> Void
    ) async throws {
        let sample = SampleShop.cloudPlans
        let change = { (configuration: inout ServerConfiguration) in
            configuration.catalog = sample.catalog
            configuration.apple.bundleID = sample.bundleID
        }
        try await Shop.open(change: change, time: TestClock(seconds: now)) { shop in
            try await shop.emulator.store.replaceProducts(sample.products())
            try await open(shop, bundleID: sample.bundleID, journey)
        }
    }

    /// Opens an Apple Account in a storefront.
    func openAccount(_ account: String, storefront: String) async throws {
        let reply = try await shop.ask(
            .put, "/emulator/accounts/\(account)", ["storefront": .string(storefront)])
        #expect(reply.status == 200)
    }

    /// Runs an app, types commands into it, and returns the lines that it printed.
    func visit(
        _ program: String, as user: String, _ commands: [String], generation: Int = 2, language: String = "en"
    ) async throws -> [String] {
        let token = UserToken.hs256(subject: user, expires: shop.time.now.seconds + 600)
        let directory = folder.appendingPathComponent("\(program)-\(user)").path
        let app = try TillProcess.start(
            [
                "no_proxy=127.0.0.1", "TILL_STORE=\(store)", "TILL_STORE_ACCOUNT=\(user)",
                "TILL_STORE_BUNDLE_ID=\(bundleID)", "TILL_STORE_DIRECTORY=\(directory)/store",
                TillProcess.executable.deletingLastPathComponent().appendingPathComponent(program).path,
                "--server", server, "--user", user, "--token", token, "--directory", directory,
                "--storekit", String(generation), "--lang", language,
            ], executable: "/usr/bin/env")
        try app.tell((commands + ["quit"]).joined(separator: "\n"))
        let (page, code) = await app.finish()
        #expect(code == 0, "\(app.complaints)")
        return page.split(separator: "\n").map(String.init)
    }
}
