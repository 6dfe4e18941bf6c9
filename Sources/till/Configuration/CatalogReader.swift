import TillAppStore
import TillBilling
import TillJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ConfigurationReader {
    static let maximumCatalogBytes = 8 << 20
    static let productNames = [
        "id", "type", "names", "price", "prices", "points", "entitlement", "plan", "promotionalOffers",
    ]
    static let planNames = ["id", "length", "rank", "scope"]

    /// The catalogue: an inline object, or the path of a file that contains one. Every finding is a problem, so that a
    /// server never starts with a catalogue that grants the wrong products.
    mutating func readCatalog() -> Catalog? {
        guard let (value, place) = readCatalogText(), knowsEveryKey(value, place) else { return nil }
        let catalog: Catalog
        do {
            catalog = try JSONDecoder().decode(Catalog.self, from: Data(value.encoded().utf8))
        } catch let error as DecodingError {
            reader.complain(self.place(of: error, in: place), Self.sentence(error))
            return nil
        } catch {
            reader.complain(place, LocalizedText(en: "is not a catalogue", zh: "不是商品目录"))
            return nil
        }
        let findings = catalog.findings.filter { !keepsDuplicateProducts || $0.code != .duplicateID }
        for finding in findings { reader.complain(place.key("products"), finding.sentence) }
        return findings.isEmpty ? catalog : nil
    }

    /// A misspelt key would silently grant nothing to the buyer.
    private mutating func knowsEveryKey(_ value: JSONValue, _ place: SettingLocation) -> Bool {
        let before = problems.count
        let root = Setting(value: value, place: place, base: "")
        guard let products = reader.object(root, names: ["products"])?["products"] else {
            return problems.count == before
        }
        for product in reader.list(products, most: 100_000) ?? [] {
            let members = reader.object(product, names: Self.productNames)
            if let plan = members?["plan"] { _ = reader.object(plan, names: Self.planNames) }
        }
        return problems.count == before
    }

    private mutating func readCatalogText() -> (value: JSONValue, place: SettingLocation)? {
        guard let setting = requiredSetting(.catalog) else { return nil }
        switch setting.value {
        case .object: return (setting.value, setting.place)
        case .string:
            guard let path = reader.text(setting, most: 4_096) else { return nil }
            let file = resolve(path, from: setting.base)
            let place = SettingLocation(origin: file)
            // A mistake in the file is reported under the file's own name.
            guard let content = reader.file(file, place: setting.place, most: Self.maximumCatalogBytes),
                let value = reader.json(content, place: place)
            else { return nil }
            guard case .object = value else {
                return reader.wrongType(Setting(value: value, place: place, base: setting.base), .object)
            }
            return (value, place)
        default: return reader.wrongType(setting, .textOrObject)
        }
    }

    private func place(of error: DecodingError, in place: SettingLocation) -> SettingLocation {
        let path: [any CodingKey] =
            switch error {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        return path.reduce(place) { place, key in key.intValue.map(place.index) ?? place.key(key.stringValue) }
    }

    private static func sentence(_ error: DecodingError) -> LocalizedText {
        switch error {
        case .keyNotFound: LocalizedText(en: "is missing", zh: "缺少这一项")
        case .dataCorrupted(let context) where context.codingPath.last?.stringValue == "length":
            LocalizedText(
                en: "must be a plan length such as P1M, P1Y, P2W or P7D, at most 3650 days",
                zh: "应为套餐时长，如 P1M、P1Y、P2W 或 P7D，最长 3650 天")
        case .dataCorrupted(let context) where context.codingPath.last?.stringValue == "scope":
            LocalizedText(en: "must be account or device", zh: "应为 account 或 device")
        case .dataCorrupted:
            LocalizedText(
                en: "has an unknown value; types are \(types)", zh: "的值无法识别；类型应为 \(types)")
        case .typeMismatch(let type, _), .valueNotFound(let type, _): wrongType(type)
        @unknown default: LocalizedText(en: "has the wrong type", zh: "的类型不对")
        }
    }

    private static func wrongType(_ wanted: Any.Type) -> LocalizedText {
        if wanted == String.self {
            return LocalizedText(en: "has the wrong type: it must be text", zh: "的类型不对：应为文字")
        }
        if wanted == Int64.self || wanted == Int.self {
            return LocalizedText(en: "has the wrong type: it must be a whole number", zh: "的类型不对：应为整数")
        }
        if wanted is any ExpressibleByArrayLiteral.Type {
            return LocalizedText(en: "has the wrong type: it must be a list", zh: "的类型不对：应为列表")
        }
        return LocalizedText(en: "has the wrong type: it must be an object", zh: "的类型不对：应为对象")
    }

    private static var types: String { ProductType.allCases.map(\.rawValue).joined(separator: ", ") }
}
