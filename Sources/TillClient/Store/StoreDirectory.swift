/// The systems that differ in where an app may keep its files.
enum DeviceSystem: String, CaseIterable, Sendable {
    case iOS, macOS, macCatalyst, tvOS, watchOS, visionOS, linux

    static var current: DeviceSystem {
        #if targetEnvironment(macCatalyst)
            .macCatalyst
        #elseif os(macOS)
            .macOS
        #elseif os(tvOS)
            .tvOS
        #elseif os(watchOS)
            .watchOS
        #elseif os(visionOS)
            .visionOS
        #elseif os(iOS)
            .iOS
        #else
            .linux
        #endif
    }
}

/// The directory of the kit's files, by the rules of each system.
enum StoreDirectory {
    /// What the system tells a process about its place.
    struct Surroundings: Sendable {
        /// The user's home; for an app in a sandbox, the home in its container.
        var home: String
        /// Nil where the system names none.
        var applicationSupport: String?
        var caches: String?
        /// Nil for a program without a bundle.
        var bundleID: String?
        var programName: String
        /// `XDG_STATE_HOME`.
        var stateHome: String?
        /// The suite of the app's preferences; nil for the standard one.
        var suite: String?
    }

    static func path(on system: DeviceSystem, _ here: Surroundings) -> String {
        switch system {
        case .iOS, .watchOS, .visionOS:
            // In the container of the app.
            return support(here) + "/Till"
        case .macOS, .macCatalyst:
            // Apps without a sandbox share this folder, so each has one of its own in it (Apple's File System
            // Programming Guide).
            let name = here.bundleID.flatMap { $0.isEmpty ? nil : $0 } ?? here.programName
            return support(here) + "/\(name)/Till"
        case .tvOS:
            // An Apple TV lets apps write only here and to a temporary directory (Apple's App Programming Guide for
            // tvOS). The system may empty it while the app is not running.
            return (here.caches ?? here.home + "/Library/Caches") + "/Till"
        case .linux:
            // An empty or relative value counts as missing (XDG Base Directory Specification 0.8).
            if let state = here.stateHome, state.hasPrefix("/") { return state + "/till" }
            return here.home + "/.local/state/till"
        }
    }

    private static func support(_ here: Surroundings) -> String {
        here.applicationSupport ?? here.home + "/Library/Application Support"
    }
}
