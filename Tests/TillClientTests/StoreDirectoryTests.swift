import Foundation
import Testing
import TillBilling

@testable import TillClient

/// Where an app may keep the kit's files, on each system.
@Suite("The directory of each system")
struct StoreDirectoryTests {
    private typealias Surroundings = StoreDirectory.Surroundings

    private func place(_ change: (inout Surroundings) -> Void = { _ in }) -> Surroundings {
        var here = Surroundings(
            home: "/user", applicationSupport: "/user/Library/Application Support", caches: "/user/Library/Caches",
            bundleID: "com.example.learn", programName: "learn")
        change(&here)
        return here
    }

    @Test(
        "Each system's own place",
        arguments: [
            (.iOS, "/user/Library/Application Support/Till"),
            (.watchOS, "/user/Library/Application Support/Till"),
            (.visionOS, "/user/Library/Application Support/Till"),
            (.macOS, "/user/Library/Application Support/com.example.learn/Till"),
            (.macCatalyst, "/user/Library/Application Support/com.example.learn/Till"),
            (.tvOS, "/user/Library/Caches/Till"),
            (.linux, "/user/.local/state/till"),
        ] as [(DeviceSystem, String)])
    func places(system: DeviceSystem, path: String) {
        #expect(StoreDirectory.path(on: system, place()) == path)
        // The same where the system names no directories.
        let bare = place { ($0.applicationSupport, $0.caches) = (nil, nil) }
        #expect(StoreDirectory.path(on: system, bare) == path)
    }

    @Test("An Apple TV lets apps write to the caches only: no file of the kit lies elsewhere")
    func appleTV() {
        #expect(StoreDirectory.path(on: .tvOS, place()).hasPrefix("/user/Library/Caches/"))
        for system in DeviceSystem.allCases where system != .tvOS {
            #expect(!StoreDirectory.path(on: system, place()).contains("Caches"), "\(system)")
        }
    }

    @Test("Two Mac apps without a sandbox share no folder, and neither do two programs without a bundle")
    func macs() {
        for system in [DeviceSystem.macOS, .macCatalyst] {
            let one = StoreDirectory.path(on: system, place())
            #expect(one != StoreDirectory.path(on: system, place { $0.bundleID = "com.example.other" }))
            for none in [nil, ""] {
                let program = StoreDirectory.path(on: system, place { $0.bundleID = none })
                #expect(program == "/user/Library/Application Support/learn/Till")
            }
        }
    }

    @Test("On Linux, XDG_STATE_HOME counts if it is absolute")
    func stateHome() {
        #expect(StoreDirectory.path(on: .linux, place { $0.stateHome = "/state" }) == "/state/till")
        for value in ["", "state"] {
            let path = StoreDirectory.path(on: .linux, place { $0.stateHome = value })
            #expect(path == "/user/.local/state/till")
        }
    }

    @Test("The files of two Mac apps are separate, so that both can run at a time")
    func twoApps() throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("till-home-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        func files(_ bundleID: String) throws -> DeviceFiles {
            try DeviceFiles.ofApp(
                nil, on: .macOS, Surroundings(home: home, bundleID: bundleID, programName: "app"))
        }
        let first = try files("com.example.one")
        let second = try files("com.example.two")
        try first.identity.replace([1])
        #expect(try second.identity.read().isEmpty)
        #expect { try files("com.example.one") } throws: { ($0 as? DiskError)?.kind == .inUse }
        #expect(try first.identity.read() == [1])
    }

    @Test("O7: an Apple TV empties the caches: the guest keeps the id, and the paid purchase arrives once")
    func emptiedCaches() async throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("till-home-\(UUID())").path
        let suite = "till-tests-\(UUID())"
        defer {
            try? FileManager.default.removeItem(atPath: home)
            UserDefaults(suiteName: suite)?.removePersistentDomain(forName: suite)
        }
        let here = Surroundings(home: home, programName: "tv", suite: suite)
        let world = PretendWorld()
        func launch() async throws -> TillStore {
            let store = try TillStore(
                TillConfiguration(server: "https://till.test"), access: world.access, effects: world.effects,
                files: try .ofApp(nil, on: .tvOS, here), transport: world.transport)
            await store.start()
            return store
        }
        var store: TillStore? = try await launch()
        let guest = try #require(await store?.guestID)
        await store?.signIn(guest) { guest }
        // The network ends while the sheet is shown: only the store knows of the payment.
        world.shop.withLock { $0.onSheet = { world.state.withLock { $0.isAway = true } } }
        guard case .deliveryPending = try #require(await store?.buy("points.60")) else { throw Unexpected("granted") }
        await world.end(try #require(store))
        store = nil
        #expect(world.state.now.queue.count == 1 && world.state.now.grants.isEmpty)

        try FileManager.default.removeItem(atPath: home + "/Library/Caches")
        world.state.withLock { $0.isAway = false }
        let again = try await launch()
        #expect(await again.guestID == guest)
        await again.signIn(guest) { guest }
        #expect(await world.sees { world.state.now.grants.values.map(\.text) == [guest] })
        #expect(await world.sees { world.state.now.queue.isEmpty && world.state.now.finishedBeforeWord.isEmpty })
        await world.end(again)
    }
}
