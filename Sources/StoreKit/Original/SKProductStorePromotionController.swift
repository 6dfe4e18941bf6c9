import Foundation

@frozen public enum SKProductStorePromotionVisibility: Int, Hashable, Sendable {
    case `default` = 0
    case show = 1
    case hide = 2
}

/// The visibility and the order of promoted products on this device's App Store (iOS 11). The settings are stored next
/// to the receipt and have no further effect, because the emulated App Store shows no page.
open class SKProductStorePromotionController: NSObject {
    private let file: PromotionFile
    private let session: DeviceSession

    public override init() {
        session = EmulatedDevice.current.session
        file = PromotionFile(beside: session.receipt)
    }

    /// The controller of the current device.
    open class func `default`() -> SKProductStorePromotionController { SKProductStorePromotionController() }

    open func promotionVisibility(for product: SKProduct) async throws -> SKProductStorePromotionVisibility {
        visibility(of: product)
    }

    open func update(
        promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct
    ) async throws {
        try set(promotionVisibility, of: product)
    }

    /// The configured order, without products that are no longer for sale.
    open func promotionOrder() async throws -> [SKProduct] { try await Self.order(file, session) }

    private static func order(_ file: PromotionFile, _ session: DeviceSession) async throws -> [SKProduct] {
        let order = file.read().order
        do throws(EmulatorClientError) {
            let found = try await session.originalProducts(order).found
            return order.compactMap { id in found.first { $0.productIdentifier == id } }
        } catch {
            throw error.error
        }
    }

    open func update(promotionOrder: [SKProduct]) async throws { try set(promotionOrder) }

    open func fetchStorePromotionVisibility(
        for product: SKProduct,
        completionHandler: (@Sendable (SKProductStorePromotionVisibility, (any Error)?) -> Void)? = nil
    ) {
        let visibility = visibility(of: product)
        call { completionHandler?(visibility, nil) }
    }

    open func update(
        storePromotionVisibility promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct,
        completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let error = fault { try set(promotionVisibility, of: product) }
        call { completionHandler?(error) }
    }

    open func fetchStorePromotionOrder(
        completionHandler: (@Sendable ([SKProduct], (any Error)?) -> Void)? = nil
    ) {
        session.effects.spawn { [session, file] in
            let answer: ([SKProduct], (any Error)?)
            do { answer = (try await Self.order(file, session), nil) } catch { answer = ([], error) }
            await session.effects.callback { completionHandler?(answer.0, answer.1) }
        }
    }

    open func update(
        storePromotionOrder promotionOrder: [SKProduct], completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let error = fault { try set(promotionOrder) }
        call { completionHandler?(error) }
    }

    private func visibility(of product: SKProduct) -> SKProductStorePromotionVisibility {
        file.read().visibility[product.productIdentifier]
            .flatMap { SKProductStorePromotionVisibility(rawValue: $0) } ?? .default
    }

    private func set(_ visibility: SKProductStorePromotionVisibility, of product: SKProduct) throws {
        var promotions = file.read()
        promotions.visibility[product.productIdentifier] = visibility == .default ? nil : visibility.rawValue
        try file.write(promotions)
    }

    private func set(_ order: [SKProduct]) throws {
        var promotions = file.read()
        promotions.order = order.map(\.productIdentifier)
        try file.write(promotions)
    }

    private func fault(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }

    private func call(_ call: @escaping @Sendable () -> Void) {
        session.effects.spawn { [session] in await session.effects.callback(call) }
    }
}

/// The app's settings in a file on the device. An unreadable file counts as missing.
private struct PromotionFile: Sendable {
    struct Promotions: Codable {
        var order: [String] = []
        var visibility: [String: Int] = [:]
    }

    private let beside: ReceiptFile
    private var url: URL { beside.url.deletingLastPathComponent().appendingPathComponent("promotions.json") }

    init(beside receipt: ReceiptFile) { beside = receipt }

    func read() -> Promotions {
        guard let data = try? Data(contentsOf: url) else { return Promotions() }
        return (try? JSONDecoder().decode(Promotions.self, from: data)) ?? Promotions()
    }

    func write(_ promotions: Promotions) throws {
        try ReceiptFile(url: url).replace(with: try JSONEncoder().encode(promotions))
    }
}
