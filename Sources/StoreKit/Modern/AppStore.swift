import Foundation

/// What concerns the App Store as a whole, and not one product or transaction.
public enum AppStore {
    public struct Environment: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Environment(rawValue: "Production")
        public static let sandbox = Environment(rawValue: "Sandbox")
        public static let xcode = Environment(rawValue: "Xcode")
    }

    /// Where a customer got the app first (facts/jws §6).
    public struct Platform: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let iOS = Platform(rawValue: "iOS")
        public static let macOS = Platform(rawValue: "macOS")
        public static let tvOS = Platform(rawValue: "tvOS")
        public static let visionOS = Platform(rawValue: "visionOS")
    }

    /// Whether this device may buy: what the store said last, and true before it said anything.
    public static var canMakePayments: Bool { EmulatedDevice.current.session.known.news?.mayPay ?? true }

    /// What signed values prove to have been signed for (facts/jws §2). Nil before the store was reached.
    public static var deviceVerificationID: UUID? {
        EmulatedDevice.current.session.known.news?.deviceVerificationId
    }

    /// Gets everything anew that the store knows of this account: for a customer who misses a purchase and asks.
    ///
    /// - Throws: `StoreKitError`; `networkError` where the store can't be reached.
    public static func sync() async throws {
        let session = EmulatedDevice.current.session
        do {
            _ = try await session.status()
            try await session.renewReceipt()
        } catch let fault as StoreFault {
            throw StoreKitError(fault)
        } catch {
            // The receipt came and can't be written.
            throw StoreKitError.systemError(error)
        }
    }
}
