import Foundation
import Testing
import TillHTTP
import TillJSON

@testable import StoreKit

/// StoreKit must not import the store's module, so both define the bodies of their exchange. These tests compare
/// StoreKit's definitions with the store's own description of its API.
@Suite("StoreKit and the control API") struct ControlAPIAgreementTests {
    /// The answers that StoreKit reads.
    enum Answer: String, CaseIterable, CustomTestStringConvertible {
        case news = "/emulator/devices/{id}/news"
        case products = "/emulator/devices/{id}/products"
        case statuses = "/emulator/devices/{id}/subscription-statuses"
        case transactions = "/emulator/devices/{id}/transactions"
        case restored = "/emulator/restore"
        case purchase = "/emulator/purchases"

        var testDescription: String { rawValue }
        var method: String { self == .restored || self == .purchase ? "post" : "get" }

        func read(_ body: JSONValue) throws -> Any {
            func decode<Words: Decodable>(_ type: Words.Type) throws -> Words {
                try JSONDecoder().decode(type, from: Data(body.encoded().utf8))
            }
            return switch self {
            case .news: try decode(DeviceUpdateResponse.self)
            case .products: try decode(ProductsResponse.self)
            case .statuses: try decode(PageResponse<SubscriptionGroupResponse>.self)
            case .transactions: try decode(PageResponse<TransactionResponse>.self)
            case .restored: try decode(PageResponse<RestoredPurchaseResponse>.self)
            case .purchase: try decode(PurchaseResponse.self)
            }
        }
    }

    @Test(
        "StoreKit reads every answer that its description allows, with all members or only the required ones",
        arguments: Answer.allCases)
    func answers(_ answer: Answer) async throws {
        let api = try await ControlAPI()
        let schema = try api.answer(answer.method, answer.rawValue)
        for choice in 0..<12 { _ = try answer.read(try api.sample(schema, isWhole: true, choice)) }
        _ = try answer.read(try api.sample(schema, isWhole: false))
    }

    @Test("StoreKit reads only members that the description has", arguments: Answer.allCases)
    func members(_ answer: Answer) async throws {
        let api = try await ControlAPI()
        let read = try answer.read(api.sample(api.answer(answer.method, answer.rawValue), isWhole: true))
        // A list without a second page has no cursor.
        #expect(Self.absent(in: read, "").filter { $0 != ".nextCursor" || answer == .transactions } == [])
    }

    @Test("StoreKit's purchase requests match the description: members, outcomes and sets of transactions")
    func questions() async throws {
        let api = try await ControlAPI()
        let purchase = try #require(api.operation("post", "/emulator/purchases")["requestBody"]?["content"])
        let properties = try #require(purchase["application/json"]?["schema"]?["properties"])
        var question = PurchaseRequestBody("points.60")
        question.appAccountToken = UUID()
        question.introductoryEligibility = "a.b.c"
        question.outcome = "purchased"
        question.offer = PurchaseRequestBody.Offer(
            type: "promotional", identifier: "a",
            signature: PurchaseRequestBody.Offer.Signature(
                keyIdentifier: "k", nonce: UUID(), timestamp: 1, signature: "AA=="), jws: "a.b.c", code: "c")
        let stated = try JSONValue(decoding: [UInt8](JSONEncoder().encode(question)))
        #expect(Self.unknown(in: stated, properties, "") == [])
        let outcomes = properties["outcome"]?["enum"]?.array ?? []
        for outcome in PaymentSheet.Answer.allCases { #expect(outcomes.contains(.string(outcome.rawValue))) }
        let parameters = api.operation("get", Answer.transactions.rawValue)["parameters"]?.array ?? []
        let sets = parameters.first { $0["name"] == "set" }?["schema"]?["enum"]?.array ?? []
        #expect(sets.compactMap(\.string).sorted() == EmulatorClient.TransactionSet.allCases.map(\.rawValue).sorted())
    }

    @Test("A member that the description lacks is found")
    func planted() throws {
        struct Words: Decodable { let id: String, title: String?, parts: [Part] }
        struct Part: Decodable { let nam: String? }
        let body = #"{"id": "1", "name": "n", "parts": [{"name": "p"}]}"#
        let words = try JSONDecoder().decode(Words.self, from: Data(body.utf8))
        #expect(Self.absent(in: words, "") == [".title", ".parts.nam"])
        #expect(
            Self.unknown(in: ["id": "1", "parts": ["nam": 1]], ["id": [:], "parts": ["properties": [:]]], "") == [
                ".parts.nam"
            ])
    }

    /// The members of a decoded value that are nil.
    private static func absent(in value: Any, _ path: String) -> [String] {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { absent(in: $0.value, path) } ?? [path]
        case .collection: return mirror.children.flatMap { absent(in: $0.value, path) }
        case .struct where !(value is UUID):
            return mirror.children.flatMap { absent(in: $0.value, "\(path).\($0.label ?? "")") }
        default: return []
        }
    }

    private static func unknown(in body: JSONValue, _ properties: JSONValue, _ path: String) -> [String] {
        (body.object ?? [:]).sorted { $0.key < $1.key }.flatMap { name, value -> [String] in
            guard let property = properties[name] else { return ["\(path).\(name)"] }
            return property["properties"].map { unknown(in: value, $0, "\(path).\(name)") } ?? []
        }
    }
}

/// The description served by the store.
private struct ControlAPI {
    private let document: JSONValue

    init() async throws {
        let world = try await StoreKitWorld()
        let response = await world.emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/openapi.json"))
        await world.remove()
        document = try JSONValue(decoding: response.body)
    }

    func operation(_ method: String, _ path: String) -> JSONValue { document["paths"]?[path]?[method] ?? [:] }

    func answer(_ method: String, _ path: String) throws -> JSONValue {
        let content = operation(method, path)["responses"]?["200"]?["content"]?["application/json"]
        let name = try #require(content?["schema"]?["$ref"]?.string?.split(separator: "/").last)
        return try #require(document["components"]?["schemas"]?[String(name)])
    }

    /// A body allowed by the schema: with every member, or with the required ones.
    func sample(_ schema: JSONValue, isWhole: Bool, _ choice: Int = 0) throws -> JSONValue {
        if let words = schema["enum"]?.array?.filter({ !$0.isNull }), !words.isEmpty {
            return words[choice % words.count]
        }
        let type = schema["type"]?.string ?? schema["type"]?.array?.first?.string
        switch type {
        case "object":
            let required = (schema["required"]?.array ?? []).compactMap(\.string)
            let members = (schema["properties"]?.object ?? [:]).filter { isWhole || required.contains($0.key) }
            return .object(try members.mapValues { try sample($0, isWhole: isWhole, choice) })
        case "array": return .array([try sample(schema["items"] ?? [:], isWhole: isWhole, choice)])
        case "integer", "number": return schema["minimum"] ?? 1
        case "boolean": return true
        default:
            return switch schema["format"]?.string {
            case "uuid": "3f2c1a00-0000-4000-8000-000000000000"
            case "date-time": "2027-01-01T00:00:00.000Z"
            default: "a"
            }
        }
    }
}
