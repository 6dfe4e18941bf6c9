import TillBilling
import TillEmulator

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    static let sample = Flag(
        "sample", .choice(SampleShop.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "the sample shop: packs of points (default), or a service's plans",
            zh: "示例商店：学点包（默认），或服务套餐"))
}

/// The sample shops of `till init`, `till emulate` and the examples. The emulated store's list is the only one: the
/// server's catalogue has the same products, and adds what a purchase grants.
enum SampleShop: String, Sendable, CaseIterable {
    /// Points, a library, a course and a membership: LearnPoints and Game.
    case learnPoints = "points"
    /// A cloud service's four plans, each bought once or renewed: CloudPlans.
    case cloudPlans = "plans"

    var bundleID: String {
        switch self {
        case .learnPoints: "com.example.learn"
        case .cloudPlans: "com.example.cloud"
        }
    }

    /// The products of the emulated store.
    ///
    /// - Parameter app: the app's bundle id, if it isn't the sample's.
    func products(of app: String? = nil) -> [StoreProduct] {
        switch self {
        case .learnPoints: StoreProduct.sampleCatalog(bundleID: app ?? bundleID)
        case .cloudPlans: StoreProduct.samplePlans(bundleID: app ?? bundleID)
        }
    }

    /// The storefront of the catalogue's list prices.
    private var storefront: String {
        switch self {
        case .learnPoints: "CHN"
        case .cloudPlans: "USA"
        }
    }

    /// The server's catalogue.
    var catalog: Catalog { Catalog(products: products().compactMap(listed)) }

    private func listed(_ product: StoreProduct) -> CatalogProduct? {
        guard let price = product.prices[storefront] else { return nil }
        let others = product.prices.values.filter { $0.currency != price.currency }
        func name(_ locale: String) -> String {
            product.localizations.first { $0.locale == locale }?.displayName ?? product.name
        }
        let grant = grant(String(product.id.text.dropFirst(bundleID.utf8.count + 1)))
        return CatalogProduct(
            id: product.id, type: product.kind, names: LocalizedText(en: name("en-US"), zh: name("zh-Hans")),
            price: price, points: grant.points, entitlement: grant.entitlement, plan: grant.plan,
            prices: Dictionary(others.map { ($0.currency.text, $0.amount) }, uniquingKeysWith: { first, _ in first }))
    }

    private typealias Grant = (points: [String: Int64], entitlement: String?, plan: PlanTerms?)

    /// - Parameter name: the product's id without the bundle id.
    private func grant(_ name: String) -> Grant {
        switch self {
        case .learnPoints:
            if name.hasPrefix("points"), let amount = Int64(name.dropFirst(6)) { return (["points": amount], nil, nil) }
            if name.hasPrefix("member.") { return ([:], "member", nil) }
            if name == "course" { return ([:], nil, Self.plan(name, "P90D", name)) }
            return ([:], name, nil)
        case .cloudPlans:
            let plan = name.hasSuffix("_auto") ? String(name.dropLast(5)) : name
            let rank = String(plan.prefix { $0 != "_" })
            // Basic is for one camera; Premium is for all cameras of the account.
            let scope: PlanScope? = rank == "basic" ? .device : nil
            return ([:], nil, Self.plan(plan, plan.hasSuffix("annual") ? "P1Y" : "P1M", rank, scope))
        }
    }

    private static func plan(_ id: String, _ length: String, _ rank: String, _ scope: PlanScope? = nil) -> PlanTerms? {
        PlanLength(length).map { PlanTerms(id: PlanID(id), length: $0, rank: rank, scope: scope) }
    }

    /// The text of the catalogue file: a product's members on a line each, in the order of the documentation.
    var catalogText: String {
        let products = catalog.products.map { product in
            var members: [(name: String, value: any Encodable)] = [
                ("id", product.id), ("type", product.type), ("names", product.names), ("price", product.price),
            ]
            if !product.prices.isEmpty { members.append(("prices", product.prices)) }
            if !product.points.isEmpty { members.append(("points", product.points)) }
            if let entitlement = product.entitlement { members.append(("entitlement", entitlement)) }
            if let plan = product.plan { members.append(("plan", plan)) }
            let lines = members.map { "      \"\($0.name)\": \(Self.text($0.value))" }
            return "    {\n" + lines.joined(separator: ",\n") + "\n    }"
        }
        return "{\n  \"products\": [\n" + products.joined(separator: ",\n") + "\n  ]\n}\n"
    }

    private static func text(_ value: any Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // None of these values can fail to encode.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
