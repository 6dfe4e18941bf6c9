import Foundation
import TillJSON

extension Product.SubscriptionInfo {
    /// The status of one subscription of a customer.
    public struct Status: Hashable, Sendable {
        public let state: RenewalState
        /// The newest period.
        public let transaction: VerificationResult<Transaction>
        public let renewalInfo: VerificationResult<RenewalInfo>

        /// The subscriptions that are new or changed since the last report, while the app runs. Includes changes
        /// elsewhere and the app's own purchases.
        public static var updates: Statuses { Statuses(session: EmulatedDevice.current.session) }

        /// The groups in which the customer has or had a subscription, with the statuses of
        /// ``SubscriptionInfo/status``. Empty while the store can't be reached.
        @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
        public static var all: AsyncStream<(groupID: String, statuses: [Status])> {
            let groups = SubscriptionGroupIterator(EmulatedDevice.current.session)
            return AsyncStream { await groups.next() }
        }
    }

    /// The values of the App Store Server API (facts/storekit-client B4).
    public struct RenewalState: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let subscribed = RenewalState(rawValue: 1)
        public static let expired = RenewalState(rawValue: 2)
        public static let inBillingRetryPeriod = RenewalState(rawValue: 3)
        public static let inGracePeriod = RenewalState(rawValue: 4)
        public static let revoked = RenewalState(rawValue: 5)

        /// In English.
        @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
        public var localizedDescription: String {
            switch self {
            case .subscribed: "Subscribed"
            case .expired: "Expired"
            case .inBillingRetryPeriod: "In Billing Retry Period"
            case .inGracePeriod: "In Grace Period"
            case .revoked: "Revoked"
            default: "\(rawValue)"
            }
        }
    }
}

extension Product.SubscriptionInfo.Status {
    public struct Statuses: AsyncSequence, Sendable {
        public typealias Element = Product.SubscriptionInfo.Status
        let session: DeviceSession

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: DeviceEvents(session)) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var changes: DeviceEvents
            private var delivered: [String: StatusContent] = [:]
            private var waiting: [Product.SubscriptionInfo.Status] = []

            init(changes: DeviceEvents) { self.changes = changes }

            public mutating func next() async -> Product.SubscriptionInfo.Status? {
                while waiting.isEmpty {
                    switch await changes.next() {
                    case .launched: _ = await look()
                    case .subscriptions: waiting = await look()
                    case .transaction, .storefront, .intent, .message: break
                    case nil: return nil
                    }
                }
                return waiting.removeFirst()
            }

            /// The statuses that differ from the last poll.
            private mutating func look() async -> [Product.SubscriptionInfo.Status] {
                let session = changes.session
                guard
                    let groups = await session.answer({ () async throws(EmulatorClientError) in
                        try await session.groups()
                    })
                else { return [] }
                var changed: [Product.SubscriptionInfo.Status] = []
                for response in groups.flatMap(\.statuses) {
                    let content = StatusContent(response)
                    guard delivered.updateValue(content, forKey: response.originalTransactionId) != content,
                        let status = try? await session.status(response)
                    else { continue }
                    changed.append(status)
                }
                return changed
            }
        }
    }
}

/// The content of a status, without the parts that change with every signature.
private struct StatusContent: Equatable {
    private let status: Int
    private let transaction: [String: JSONValue]?
    private let renewal: [String: JSONValue]?

    init(_ response: StatusResponse) {
        status = response.status
        transaction = SignedText(response.signedTransaction)?.membersWithoutSigning
        renewal = SignedText(response.signedRenewalInfo)?.membersWithoutSigning
    }
}

/// The groups of `Status.all`, one after another.
private actor SubscriptionGroupIterator {
    private let session: DeviceSession
    private var left: [SubscriptionGroupResponse]?

    init(_ session: DeviceSession) { self.session = session }

    func next() async -> (groupID: String, statuses: [Product.SubscriptionInfo.Status])? {
        if left == nil { left = (try? await session.groups())?.filter { !$0.statuses.isEmpty } }
        while let group = left?.first {
            left?.removeFirst()
            if let statuses = try? await session.statuses(group.statuses) { return (group.groupId, statuses) }
        }
        return nil
    }
}

extension DeviceSession {
    func groups() async throws(EmulatorClientError) -> [SubscriptionGroupResponse] {
        try await signedIn()
        return try await client.subscriptionGroups()
    }

    func isEligibleForIntroOffer(_ groupID: String) async -> Bool {
        (try? await groups())?.first { $0.groupId == groupID }?.introductoryEligible ?? false
    }

    /// - Throws: `StoreKitError`.
    func statuses(of groupID: String) async throws -> [Product.SubscriptionInfo.Status] {
        do throws(EmulatorClientError) {
            return try await statuses(try await groups().first { $0.groupId == groupID }?.statuses ?? [])
        } catch {
            throw StoreKitError(error)
        }
    }

    /// - Throws: `StoreKitError`.
    func status(of transaction: UInt64) async throws -> Product.SubscriptionInfo.Status? {
        do throws(EmulatorClientError) {
            let statuses = try await groups().flatMap(\.statuses)
            let id = String(transaction)
            var found = statuses.first { $0.originalTransactionId == id }
            if found == nil, !statuses.isEmpty {
                let original = try await client.transactions(.all).first { $0.transactionId == id }?
                    .originalTransactionId
                found = statuses.first { $0.originalTransactionId == original }
            }
            guard let found else { return nil }
            return try await status(found)
        } catch {
            throw StoreKitError(error)
        }
    }

    fileprivate func statuses(_ response: [StatusResponse]) async throws(EmulatorClientError) -> [Product
        .SubscriptionInfo.Status]
    {
        var statuses: [Product.SubscriptionInfo.Status] = []
        for response in response { statuses.append(try await status(response)) }
        return statuses
    }

    fileprivate func status(_ response: StatusResponse) async throws(EmulatorClientError)
        -> Product.SubscriptionInfo.Status
    {
        let state = Product.SubscriptionInfo.RenewalState(rawValue: response.status)
        let renewal = try await verify(response.signedRenewalInfo, as: Product.SubscriptionInfo.RenewalInfo.self)
        return Product.SubscriptionInfo.Status(
            state: state, transaction: try await verify(response.signedTransaction),
            renewalInfo: renewal)
    }
}

@available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
public typealias SubscriptionStatus = Product.SubscriptionInfo.Status
@available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
public typealias SubscriptionRenewalState = Product.SubscriptionInfo.RenewalState
