import Foundation
import Testing

/// Linux ignores the releases in `@available`; this test holds them to Apple's, because an app that uses a newer member
/// without `#available` compiles here and not with Apple's SDK.
@Suite("The releases of StoreKit's members")
struct AvailabilityTests {
    static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/StoreKit")

    /// The text of every source file, by its path below `Sources/StoreKit`.
    static func texts() throws -> [String: String] {
        let files = FileManager.default.subpaths(atPath: sources.path)?.filter { $0.hasSuffix(".swift") } ?? []
        let texts = try files.map { try String(contentsOf: sources.appendingPathComponent($0), encoding: .utf8) }
        return Dictionary(uniqueKeysWithValues: zip(files, texts))
    }

    /// The members of Apple's interface that are newer than iOS 15.0 and exist here. 15.4 to 16.4 are from the
    /// interface of the iPhoneOS 16.5 SDK, later ones from facts/storekit-client and facts/storekit-26-27. Members of a
    /// listed type have its release, and back-deployed members the oldest system that they run on.
    static let table = """
        15.4
            Product.ProductType.localizedDescription
            Product.PurchaseError: LocalizedError
            Product.SubscriptionInfo.RenewalInfo.ExpirationReason.localizedDescription
            Product.SubscriptionInfo.RenewalInfo.PriceIncreaseStatus.localizedDescription
            Product.SubscriptionInfo.RenewalState.localizedDescription
            Product.SubscriptionOffer.OfferType.localizedDescription
            Product.SubscriptionOffer.PaymentMode.localizedDescription
            Product.SubscriptionPeriod.Unit.localizedDescription
            StoreKitError.notEntitled
            StoreKitError: LocalizedError
            Transaction.OfferType.localizedDescription
            Transaction.OwnershipType.localizedDescription
            Transaction.RefundRequestError: LocalizedError
            Transaction.RevocationReason.localizedDescription
            VerificationResult.VerificationError: LocalizedError
        16.0
            AppStore.Environment
            AppTransaction
            AppTransaction.originalPlatformStringRepresentation
            AppTransaction.storeTypeStringRepresentation
            Message
            Product.SubscriptionInfo.RenewalInfo.currency
            Product.SubscriptionInfo.RenewalInfo.environment
            Product.SubscriptionPeriod.Unit.FormatStyle
            Product.SubscriptionPeriod.Unit.formatted(_:)
            Product.SubscriptionPeriod.formatted(_:referenceDate:)
            Product.subscriptionPeriodUnitFormatStyle
            Transaction.currency
            Transaction.environment
        16.4
            Message.Reason.billingIssue
            Product.SubscriptionInfo.groupDisplayName
            Product.SubscriptionInfo.groupLevel
            Product.SubscriptionPeriod.everySixMonths
            Product.SubscriptionPeriod.everyThreeDays
            Product.SubscriptionPeriod.everyThreeMonths
            Product.SubscriptionPeriod.everyTwoMonths
            Product.SubscriptionPeriod.everyTwoWeeks
            Product.SubscriptionPeriod.monthly
            Product.SubscriptionPeriod.weekly
            Product.SubscriptionPeriod.yearly
            PurchaseIntent
        17.0
            Product.SubscriptionInfo.Status.all
            Product.SubscriptionPeriod.Unit: Comparable
            Storefront.currency
            Transaction.Reason
            Transaction.reason
            Transaction.storefront
        17.2
            Transaction.Offer
            Transaction.offer
        17.4
            Product.PurchaseOption.promotionalOffer(offerID:signature:)
            Product.SubscriptionOffer.Signature
        18.0
            Message.Reason.winBackOffer
            Product.PurchaseOption.winBackOffer(_:)
            Product.SubscriptionInfo.RenewalInfo.eligibleWinBackOfferIDs
            Product.SubscriptionInfo.RenewalInfo.offer
            Product.SubscriptionInfo.winBackOffers
            Product.SubscriptionOffer.OfferType.winBack
            PurchaseIntent.offer
            PurchaseIntent: Identifiable
        18.4
            AppStore.Platform
            AppTransaction.originalPlatform
            Product.SubscriptionInfo.status(transactionID:)
            Product.currentEntitlements
            StoreKitError.unsupported
            SubscriptionInfo
            SubscriptionPeriod
            SubscriptionRenewalInfo
            SubscriptionRenewalState
            SubscriptionStatus
            Transaction.Offer.period
            Transaction.all(for:)
            Transaction.currentEntitlements(for:)
        26.4
            Product.PurchaseOption.billingPlanType(_:)
            Product.SubscriptionInfo.BillingPeriod
            Product.SubscriptionInfo.BillingPlanType
            Product.SubscriptionInfo.CommitmentInfo
            Product.SubscriptionInfo.PricingTerms
            Product.SubscriptionInfo.RenewalInfo.CommitmentInfo
            Product.SubscriptionInfo.RenewalInfo.commitmentInfo
            Product.SubscriptionInfo.RenewalInfo.renewalBillingPlanType
            Product.SubscriptionInfo.pricingTerms
            Transaction.CommitmentInfo
            Transaction.RevocationType
            Transaction.billingPlanType
            Transaction.commitmentInfo
            Transaction.revocationType
        27.0
            AppTransaction.AppTransactions
            AppTransaction.StoreType
            AppTransaction.all
            AppTransaction.storeType
            StoreKitError.invalidPresentationContext
            Transaction.RefundRequestError.ineligible
        """

    private static var listed: [String] {
        var (release, lines) = ("", [String]())
        for line in table.split(separator: "\n").map(String.init) {
            if line.first == " " { lines.append(release + " " + line.drop { $0 == " " }) } else { release = line }
        }
        return lines
    }

    @Test("Availability stands beside each member that is newer than iOS 15, with Apple's release")
    func releases() throws {
        let found = try Self.texts().values.flatMap { DeclaredReleases(of: $0).found }
        let (declared, listed) = (Set(found), Set(Self.listed))
        #expect(found.count == declared.count && listed.count == Self.listed.count, "each member once")
        #expect(declared.subtracting(listed).sorted() == [], "not in the list of Apple's releases")
        #expect(listed.subtracting(declared).sorted() == [], "not declared with this release")
    }

    @Test("The reader finds types, members, cases, functions with labels, and members of an extension")
    func reader() {
        let text = """
            @available(iOS 16.0, macOS 13.0, *)
            public struct Parcel: Sendable {  // {
                @available(iOS 17.0, *)
                public let size: Int
                let hidden: Int
                public func send(to name: String) {}
            }

            @available(iOS 18.0, *)
            extension Parcel {
                public static func wrap(_ paper: [String: Int], ribbon: Int) -> Parcel {
                    switch paper.count {
                    case 0: return .empty
                    default: return .full
                    }
                }
                var secret: Int { 0 }
            }

            @available(iOS 17.4, *)
            extension Parcel: Comparable {
                public static func < (left: Parcel, right: Parcel) -> Bool { false }
            }

            public enum Post: Error {
                case lost
                @available(iOS 15.4, *)
                case late(days: Int)
                @available(iOS, introduced: 15.0, deprecated: 16.0, message: "")
                @available(macOS, introduced: 12.0, deprecated: 13.0, message: "")
                case old
            }
            """
        #expect(
            DeclaredReleases(of: text).found == [
                "16.0 Parcel", "17.0 Parcel.size", "18.0 Parcel.wrap(_:ribbon:)", "17.4 Parcel: Comparable",
                "15.4 Post.late",
            ])
    }
}
