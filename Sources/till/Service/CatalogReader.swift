import TillAppStore
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads a catalogue as it was written, and says everything that is wrong with it at once.
struct CatalogReader {
    private static let productNames = ["id", "type", "names", "price", "points", "entitlement"]

    /// - Parameter origin: where it was written, for messages.
    static func read(_ value: JSONValue, origin: String) throws(CommandFailure) -> Catalog {
        let slips = unknownNames(value, origin)
        guard slips.isEmpty else { throw CommandFailure(reasons: slips) }
        let catalog: Catalog
        do {
            catalog = try JSONDecoder().decode(Catalog.self, from: Data(value.encoded().utf8))
        } catch let error as DecodingError {
            throw CommandFailure(sentence(error, origin))
        } catch {
            throw CommandFailure(Text(en: "\(origin): is no catalogue", zh: "\(origin)：不是商品目录"))
        }
        let findings = catalog.findings
        guard findings.isEmpty else {
            throw CommandFailure(
                reasons: findings.map { finding in
                    Text(en: "\(origin): \(finding.sentence.en)", zh: "\(origin)：\(finding.sentence.zh)")
                })
        }
        return catalog
    }

    /// A misspelt name would silently give the buyer nothing.
    private static func unknownNames(_ value: JSONValue, _ origin: String) -> [Text] {
        var found = slips(value, knowing: ["products"], "", origin)
        for (index, product) in (value["products"]?.array ?? []).enumerated() {
            found += slips(product, knowing: productNames, "products[\(index)].", origin)
        }
        return found
    }

    private static func slips(_ value: JSONValue, knowing names: [String], _ path: String, _ origin: String) -> [Text] {
        (value.object ?? [:]).keys.sorted().filter { !names.contains($0) }.map { name in
            let place = "\(origin): \(path)\(shown(name))"
            guard let near = nearestName(to: name, among: names) else {
                return Text(en: "\(place) is not known", zh: "\(place) 不是已知的键")
            }
            return Text(en: "\(place) is not known. Did you mean \(near)?", zh: "\(place) 不是已知的键。是不是想写 \(near)？")
        }
    }

    private static func sentence(_ error: DecodingError, _ origin: String) -> Text {
        let path: [any CodingKey]
        let isMissing: Bool
        switch error {
        case .keyNotFound(let key, let context): (path, isMissing) = (context.codingPath + [key], true)
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            (path, isMissing) = (context.codingPath, false)
        @unknown default: (path, isMissing) = ([], false)
        }
        let name = path.reduce("") { text, key in
            key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
        }
        return isMissing
            ? Text(en: "\(origin): \(name) is missing", zh: "\(origin)：缺少 \(name)")
            : Text(en: "\(origin): \(name) can't be that value", zh: "\(origin)：\(name) 的值不合适")
    }
}
