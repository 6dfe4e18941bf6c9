import Foundation
import TillBilling

/// The client's connections to the outside world. They are passed in, so the same code runs on a phone, in a test and
/// in a simulation. The disk and the store's queue are passed separately.
package struct Effects: Sendable {
    /// The current time. It may jump, because users can set the clock.
    package var clock: @Sendable () -> Instant
    /// Returns the requested number of unpredictable bytes.
    package var entropy: @Sendable (Int) -> [UInt8]
    /// Waits this many milliseconds, or less if the task is cancelled.
    package var pause: @Sendable (Int64) async -> Void
    /// Yields when the device has a network again.
    package var networkReturns: @Sendable () -> AsyncStream<Void>
    /// Starts work without waiting for it.
    package var spawn: @Sendable (@escaping @Sendable () async -> Void) -> Void
    /// Runs the app's callback on the executor that the app expects.
    package var callback: @Sendable (@escaping @Sendable () -> Void) async -> Void

    package init(
        clock: @escaping @Sendable () -> Instant, entropy: @escaping @Sendable (Int) -> [UInt8],
        pause: @escaping @Sendable (Int64) async -> Void,
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
        callback: @escaping @Sendable (@escaping @Sendable () -> Void) async -> Void = { $0() },
        networkReturns: @escaping @Sendable () -> AsyncStream<Void> = { AsyncStream { $0.finish() } }
    ) {
        self.networkReturns = networkReturns
        self.clock = clock
        self.entropy = entropy
        self.pause = pause
        self.spawn = spawn
        self.callback = callback
    }
}

// The production composition, the only part of the kit that uses the system directly.

extension TillStore {
    /// Creates the store for an app.
    ///
    /// - Throws: `journal` if the list of orders is open in another instance of the app (`disk_in_use`), was written by
    ///   another version (`journal_version`; the file is left unchanged), or can't be read or created. `insecureServer`
    ///   if the server's address is neither `https://` nor `http://` on this machine; nothing is opened then.
    public convenience init(_ configuration: TillConfiguration) throws(TillError) {
        guard ServerAddress(configuration.server).isSecure else { throw TillError(.insecureServer) }
        let files: DeviceFiles
        do throws(DiskError) {
            files = try .ofApp(configuration.directory)
        } catch {
            throw TillError(.journal(.disk(error)))
        }
        try self.init(
            configuration, access: .of(configuration.generation), effects: .app, files: files, transport: .ofDevice)
    }
}

extension Effects {
    /// The system's clock, randomness and tasks.
    package static var app: Effects {
        Effects(
            clock: { Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))) },
            entropy: { count in
                var generator = SystemRandomNumberGenerator()
                return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            },
            pause: { milliseconds in
                // Task.sleep(for:) requires a later system than iOS 15.
                try? await Task.sleep(nanoseconds: UInt64(clamping: milliseconds) * 1_000_000)
            },
            spawn: { work in Task { await work() } },
            callback: { body in
                #if canImport(Darwin)
                    // Apps update their user interface in callbacks.
                    await MainActor.run { body() }
                #else
                    body()
                #endif
            },
            networkReturns: {
                #if canImport(Network)
                    NetworkReturns.stream()
                #else
                    AsyncStream { $0.finish() }
                #endif
            })
    }
}

extension Transport {
    /// The transport to the server on this system.
    static var ofDevice: Transport {
        #if os(Linux)
            .fetch()
        #else
            .urlSession()
        #endif
    }
}

extension StoreDirectory {
    /// The directory, created with its parent directories if necessary.
    static func made(_ path: String) throws(DiskError) -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            let code = (error as? CocoaError)?.code
            throw DiskError(
                code == .fileWriteNoPermission || code == .fileWriteVolumeReadOnly
                    ? .notAllowed : code == .fileWriteOutOfSpace ? .full : .other)
        }
        return path
    }
}

extension StoreDirectory.Surroundings {
    static var ofProcess: Self {
        let process = ProcessInfo.processInfo
        #if os(Linux)
            let (support, caches): (String?, String?) = (nil, nil)
        #else
            let support = NSSearchPathForDirectoriesInDomains(.applicationSupportDirectory, .userDomainMask, true).first
            let caches = NSSearchPathForDirectoriesInDomains(.cachesDirectory, .userDomainMask, true).first
        #endif
        return Self(
            home: NSHomeDirectory(), applicationSupport: support, caches: caches,
            bundleID: Bundle.main.bundleIdentifier, programName: process.processName,
            stateHome: process.environment["XDG_STATE_HOME"])
    }
}

extension DeviceFiles {
    /// The files of an app on a system. Where the system may empty the directory, the identity, which a guest's
    /// purchases belong to, is kept among the preferences.
    static func ofApp(
        _ chosen: String?, on system: DeviceSystem = .current, _ here: StoreDirectory.Surroundings = .ofProcess
    ) throws(DiskError) -> DeviceFiles {
        var files = try inDirectory(try StoreDirectory.made(chosen ?? StoreDirectory.path(on: system, here)))
        if system == .tvOS, chosen == nil { files.identity = .preferences("TillIdentity", suite: here.suite) }
        return files
    }
}

extension StoreAccess {
    static func of(_ generation: StoreKitGeneration) -> StoreAccess {
        // StoreKit 2 is available on every system that this package supports.
        return generation == .storeKit1 ? .storeKit1(.app) : .storeKit2(spawn: Effects.app.spawn)
    }
}
