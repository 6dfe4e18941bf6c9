import Foundation
import Testing

/// Code that Apple's SDK refuses must not compile here, and code that it accepts must. The compiler checks each line as
/// a file of another module that imports the built one.
@Suite("What compiles with StoreKit", .serialized)
struct CompilerTests {
    /// Enums that Apple may extend: a switch needs `@unknown default`.
    static let open = [
        "func f(_ x: Product.PurchaseResult) { switch x { case .success, .userCancelled, .pending: break } }",
        """
        func f(_ x: Product.PurchaseError) { switch x { case .invalidQuantity, .productUnavailable, \
        .purchaseNotAllowed, .ineligibleForOffer, .invalidOfferIdentifier, .invalidOfferPrice, \
        .invalidOfferSignature, .missingOfferParameters: break } }
        """,
        """
        func f(_ x: StoreKitError) { switch x { case .unknown, .userCancelled, .networkError, .systemError, \
        .notAvailableInStorefront, .notEntitled, .unsupported, .invalidPresentationContext: break } }
        """,
        """
        func f(_ x: VerificationResult<Int>.VerificationError) { switch x { case .revokedCertificate, \
        .invalidCertificateChain, .invalidDeviceVerification, .invalidEncoding, .invalidSignature, \
        .missingRequiredProperties: break } }
        """,
        "func f(_ x: Transaction.RefundRequestStatus) { switch x { case .success, .userCancelled: break } }",
        """
        func f(_ x: Transaction.RefundRequestError) { switch x { case .duplicateRequest, .failed, .ineligible: break } }
        """,
        "func f(_ x: Product.SubscriptionPeriod.Unit) { switch x { case .day, .week, .month, .year: break } }",
        """
        func f(_ x: SKPaymentTransactionState) { switch x { case .purchasing, .purchased, .failed, .restored, \
        .deferred: break } }
        """,
        "func f(_ x: SKProduct.PeriodUnit) { switch x { case .day, .week, .month, .year: break } }",
        """
        func f(_ x: SKProductDiscount.PaymentMode) { switch x { case .payAsYouGo, .payUpFront, .freeTrial: break } }
        """,
        """
        func f(_ x: SKError.Code) { switch x { case .unknown, .clientInvalid, .paymentCancelled, .paymentInvalid, \
        .paymentNotAllowed, .storeProductNotAvailable, .cloudServicePermissionDenied, \
        .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked, .privacyAcknowledgementRequired, \
        .unauthorizedRequestData, .invalidOfferIdentifier, .invalidSignature, .missingOfferParams, .invalidOfferPrice, \
        .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout, .ineligibleForOffer, .unsupportedPlatform, \
        .overlayPresentedInBackgroundScene: break } }
        """,
        "func f(_ x: SKProductDiscount.`Type`) { switch x { case .introductory, .subscription: break } }",
    ]

    /// Conformances and members that Apple's types do not have.
    static let refused =
        [
            "func f(_ x: Storefront) -> Bool { x == x }",
            "func f(_ x: Storefront) -> AnyHashable { AnyHashable(x) }",
            "func f(_ x: PurchaseIntent) -> AnyHashable { AnyHashable(x) }",
            "func f(_ x: PurchaseIntent.PurchaseIntents) -> any Sendable { x }",
            "func f(_ x: SubscriptionRenewalInfo) { _ = x.state }",
            "typealias Offer = SubscriptionOffer",
            "func f(_ x: SKError) { _ = x.errorDescription }",
            "func f(_ x: Product) async throws { try await x.purchase() }",
        ] + notSendable.map { "func f(_ x: \($0)) -> any Sendable { x }" }

    static let notSendable = [
        "SKPayment", "SKMutablePayment", "SKRequest", "SKProductsRequest", "SKReceiptRefreshRequest", "SKDownload",
        "SKProductStorePromotionController",
    ]

    static let accepted =
        [
            "func f(_ x: VerificationResult<Int>) { switch x { case .verified, .unverified: break } }",
            """
            func f(_ x: SubscriptionRenewalInfo.PriceIncreaseStatus) { switch x { case .noIncreasePending, .pending, \
            .agreed: break } }
            """,
            "func f(_ x: SKProductStorePromotionVisibility) { switch x { case .default, .show, .hide: break } }",
            """
            func f(_ x: SKDownloadState) { switch x { case .waiting, .active, .paused, .finished, .failed, .cancelled: \
            break } }
            """,
            "func f(_ x: SKPaymentTransactionState) { switch x { case .purchased: break; default: break } }",
            "func f(_ x: Storefront) -> String { x.id }",
            "func f(_ x: PurchaseIntent) -> Bool { x == x && x.id == x.product.id }",
            "func f(_ x: Product.SubscriptionOffer, _ y: SubscriptionPeriod) -> Bool { x.period == y }",
            "func f(_ x: SKError) -> String { x.localizedDescription }",
            "func f(_ x: Product) async throws { _ = try await x.purchase() }",
        ] + sendable.map { "func f(_ x: \($0)) -> any Sendable { x }" }

    static let sendable = [
        "SKPaymentQueue", "SKPaymentTransaction", "SKPaymentDiscount", "SKProduct", "SKProductDiscount",
        "SKProductSubscriptionPeriod", "SKProductsResponse", "SKStorefront", "PurchaseIntent", "Storefront",
        "Message.Messages", "Storefront.Storefronts", "Transaction.Transactions", "SubscriptionStatus.Statuses",
    ]

    @Test("Only code that Apple's SDK accepts compiles without a warning")
    func compiles() throws {
        let lines = Self.accepted + Self.open + Self.refused
        let rejected = try Self.compile(lines)
        #expect(rejected.isDisjoint(with: 0..<Self.accepted.count), "\(rejected.sorted().prefix(5).map { lines[$0] })")
        let passed = (Self.accepted.count..<lines.count).filter { !rejected.contains($0) }
        // Older compilers lack the attribute that opens an enum.
        #if hasAttribute(nonexhaustive)
            #expect(passed.map { lines[$0] } == [])
        #else
            #expect(passed.map { lines[$0] } == Self.open)
        #endif
    }

    @Test("Every public enum is open or frozen, as Apple's is; StoreKit is outside of the package's access")
    func enums() throws {
        var (frozen, undecided): ([String], [String]) = ([], [])
        for (file, text) in try AvailabilityTests.texts() where !file.hasPrefix("Device/") {
            let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            for (index, line) in lines.enumerated() {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "enum"), words[..<place].contains("public") else { continue }
                let name = String(words[place + 1].prefix { $0.isLetter || "`".contains($0) })
                if words[0] == "@frozen" {
                    frozen.append(name)
                } else if index < 2 || lines[(index - 2)..<index] != ["@nonexhaustive", "#endif"] {
                    undecided.append(name)
                }
            }
        }
        #expect(
            frozen.sorted() == [
                "PriceIncreaseStatus", "SKDownloadState", "SKProductStorePromotionVisibility", "VerificationResult",
            ])
        #expect(undecided == ["AppStore"], "which has no cases")
        let root = AvailabilityTests.sources.deletingLastPathComponent().deletingLastPathComponent()
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let target = try #require(manifest.components(separatedBy: "name: \"StoreKit\",\n").last)
        #expect(target.components(separatedBy: ".testTarget")[0].contains("packageAccess: false"))
    }

    /// - Returns: the indices of the lines with an error or a warning.
    private static func compile(_ lines: [String]) throws -> Set<Int> {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-compile-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let root = AvailabilityTests.sources.deletingLastPathComponent().deletingLastPathComponent()
        let maps = FileManager.default.subpaths(atPath: root.appendingPathComponent("Sources").path) ?? []
        let cModules = maps.filter { $0.hasSuffix("/module.modulemap") }.sorted().flatMap {
            ["-I", root.appendingPathComponent("Sources/\($0)").deletingLastPathComponent().path]
        }
        // Each line is a file of its own, so that one run checks all of them.
        var files: [String] = []
        for (index, line) in lines.enumerated() {
            let file = folder.appendingPathComponent("line\(index).swift")
            try "import StoreKit\n\(line.replacingOccurrences(of: "func f(", with: "func f\(index)("))\n"
                .write(to: file, atomically: true, encoding: .utf8)
            files.append(file.path)
        }
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments =
            [
                "swiftc", "-typecheck", "-continue-building-after-errors", "-swift-version", "6", "-parse-as-library",
                "-module-name", "Lines", "-package-name", root.lastPathComponent.lowercased(), "-I", modules.path,
            ] + cModules + files
        compiler.standardError = try FileHandle(forWritingTo: output)
        try compiler.run()
        compiler.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        let rejected = text.split(separator: "\n").filter { $0.contains(": error: ") || $0.contains(": warning: ") }
            .compactMap { line in
                line.components(separatedBy: "/line").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) }
            }
        try #require(!rejected.isEmpty, "the compiler did not check the lines: \(text.prefix(2_000))")
        return Set(rejected)
    }

    /// The folder of the modules that were built with this test.
    private static let modules: URL = {
        let arguments = CommandLine.arguments
        let flag = arguments.firstIndex(of: "--test-bundle-path").map { $0 + 1 }
        let bundle = flag.flatMap { $0 < arguments.count ? arguments[$0] : nil } ?? arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("Modules")
    }()
}
