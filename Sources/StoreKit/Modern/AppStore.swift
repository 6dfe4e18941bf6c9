import Foundation

/// The App Store as a whole, apart from individual products and transactions.
public enum AppStore: Sendable {
    @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
    public struct Environment: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Environment(rawValue: "Production")
        public static let sandbox = Environment(rawValue: "Sandbox")
        public static let xcode = Environment(rawValue: "Xcode")
    }

    /// The platform on which a customer first got the app (facts/jws §6).
    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    public struct Platform: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let iOS = Platform(rawValue: "iOS")
        public static let macOS = Platform(rawValue: "macOS")
        public static let tvOS = Platform(rawValue: "tvOS")
        public static let visionOS = Platform(rawValue: "visionOS")
    }

    /// A Boolean value that indicates whether purchases are allowed on this device. It is the store's latest answer,
    /// and true before the first one.
    public static var canMakePayments: Bool { EmulatedDevice.current.session.known.update?.mayPay ?? true }

    /// The device id for verifying that signed values belong to this device (facts/jws §2). Nil before the store was
    /// reached.
    public static var deviceVerificationID: UUID? {
        EmulatedDevice.current.session.known.update?.deviceVerificationId
    }

    /// Reads the account's data from the store again. Call it when a customer reports a missing purchase.
    ///
    /// - Throws: `StoreKitError`; `networkError` if the store can't be reached.
    public static func sync() async throws {
        let session = EmulatedDevice.current.session
        do {
            _ = try await session.status()
            try await session.renewReceipt()
        } catch let fault as EmulatorClientError {
            throw StoreKitError(fault)
        } catch {
            // The receipt was fetched but can't be written.
            throw StoreKitError.systemError(error)
        }
    }
}

/// The storefront of the signed-in account, which determines products and currency.
public struct Storefront: Identifiable, Sendable {
    /// ISO 3166-1 alpha-3.
    public let countryCode: String
    /// Apple's id of the storefront.
    public let id: String
    @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
    public let currency: Locale.Currency?

    /// - Parameter currency: ISO 4217.
    init(countryCode: String, id: String, currency: String?) {
        self.countryCode = countryCode
        self.id = id
        self.currency = currency.map { Locale.Currency($0) }
    }

    init(_ response: StorefrontResponse) {
        self.init(countryCode: response.countryCode, id: response.id, currency: response.currency)
    }

    /// The current storefront; nil before the store was reached for the first time.
    public static var current: Storefront? {
        get async {
            let session = EmulatedDevice.current.session
            if let update = try? await session.status() { return Storefront(update.storefront) }
            return session.known.update.map { Storefront($0.storefront) }
        }
    }

    /// The changes of the storefront while the app runs, each once for each listener.
    public static var updates: Storefronts { Storefronts(session: EmulatedDevice.current.session) }

    public struct Storefronts: AsyncSequence, Sendable {
        public typealias Element = Storefront
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: DeviceEvents(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: DeviceEvents

            public mutating func next() async -> Storefront? {
                while let change = await changes.next() {
                    if case .storefront(let response) = change { return Storefront(response) }
                }
                return nil
            }
        }
    }
}

/// An error of StoreKit.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum StoreKitError: Error, Sendable {
    case unknown
    case userCancelled
    case networkError(URLError)
    case systemError(any Error)
    case notAvailableInStorefront
    /// The app lacks an entitlement.
    @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
    case notEntitled
    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    case unsupported
    /// A sheet can't be shown from this view. There are no sheets here, so it does not occur.
    @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
    case invalidPresentationContext

    init(_ fault: EmulatorClientError) {
        if let error = fault.networkError {
            self = .networkError(error)
        } else if case .refused(code: "not_for_sale", _, _) = fault {
            self = .notAvailableInStorefront
        } else {
            self = .unknown
        }
    }
}

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension StoreKitError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .unknown: "The App Store could not do this."
        case .userCancelled: "The request was cancelled."
        case .networkError(let error): error.localizedDescription
        case .systemError(let error): error.localizedDescription
        case .notAvailableInStorefront: "This is not available in your country or region."
        case .notEntitled: "This app is not entitled to do this."
        case .unsupported: "This is not supported."
        case .invalidPresentationContext: "This can't be shown here."
        }
    }
}
