import TillAPI
import TillBilling
import TillJSON

/// A body of the API, as described and checked. The Swift type gives its members, their types and which are optional
/// (`CodableMembers`). The table adds what the type can't state: a sentence and the bounds of each member.
struct Body: Sendable {
    /// The name of its schema.
    let name: String
    /// Nil for bodies without a type of Till's own: Apple's formats, forms, events. The table lists all of their
    /// members.
    let type: (any (Decodable & Sendable).Type)?
    let sentence: String
    fileprivate(set) var members: [(name: String, declaration: Member)] = []
    /// JSON Schema added to the members, or used in place of them.
    var schema: [String: JSONValue]?
    /// The type of the elements, for a page.
    fileprivate(set) var element: Any.Type?

    init(
        _ name: String, _ type: any (Decodable & Sendable).Type, _ sentence: String, schema: [String: JSONValue]? = nil
    ) {
        self.name = name
        self.type = type
        self.sentence = sentence
        self.schema = schema
    }

    init(_ name: String, _ sentence: String, schema: [String: JSONValue]? = nil) {
        self.name = name
        type = nil
        self.sentence = sentence
        self.schema = schema
    }

    static func page<Element: Codable & Sendable>(_ name: String, of element: Element.Type) -> Body {
        var page = Body(name, Page<Element>.self, "One page, newest first.")
        page.element = element
        page.members = [
            ("data", "The entries of this page."), ("hasMore", "Whether older entries follow."),
            ("nextCursor", .orNull("The `cursor` of the next page; null on the last page.")),
        ]
        return page
    }
}

/// Bodies, each with the descriptions of its members. A member that is itself a body needs no description.
struct BodyTable: Sendable, ExpressibleByDictionaryLiteral {
    let bodies: [Body]

    init(dictionaryLiteral elements: (Body, KeyValuePairs<String, Member>)...) {
        bodies = elements.map { body, members in
            var body = body
            body.members += members.map { ($0.key, $0.value) }
            return body
        }
    }
}

// MARK: Schemas

extension Body {
    static let all: [Body] = [
        OpenAPI.orderBodies, OpenAPI.transactionBodies, OpenAPI.appleReceiptBodies, OpenAPI.ownershipBodies,
        OpenAPI.walletBodies, OpenAPI.planBodies, OpenAPI.shopBodies, OpenAPI.financeBodies, OpenAPI.operationBodies,
        OpenAPI.webhookBodies, OpenAPI.personBodies, OpenAPI.importBodies, OpenAPI.dashboardBodies,
    ].flatMap(\.bodies)

    private static let named = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    private static let typed = Dictionary(
        all.compactMap { body in body.type.map { (ObjectIdentifier($0), body) } }
    ) { first, _ in first }

    static func of(_ type: Any.Type) -> Body? { typed[ObjectIdentifier(type)] }

    /// The example from the examples' table; a page shows one element.
    static func example(of name: String) -> JSONValue? {
        if let example = OpenAPI.examples[name] { return example }
        guard let element = named[name]?.element.flatMap(of), let example = example(of: element.name) else {
            return nil
        }
        return ["data": [example], "hasMore": false, "nextCursor": nil]
    }

    /// Members that the table lacks, and names in it that the Swift type lacks. A test checks that it is empty.
    var differences: [String] {
        guard let type else { return [] }
        let own = CodableMembers.of(type)
        let lacking = own.filter { member in
            Body.of(member.type) == nil && declaration(of: member.name) == nil
        }
        let foreign = members.filter { entry in !own.contains { $0.name == entry.name } }
        return lacking.map(\.name) + foreign.map(\.name)
    }

    /// `sandbox` has the same description in every response.
    private func declaration(of name: String) -> Member? {
        members.first { $0.name == name }?.declaration ?? (name == "sandbox" ? .sandbox : nil)
    }

    var json: JSONValue {
        var properties: [String: JSONValue] = [:]
        var required: [String] = []
        if let type {
            for member in CodableMembers.of(type) {
                let entry = declaration(of: member.name)
                let base = CodableMembers.schema(of: member.type)
                properties[member.name] = entry?.json(of: base) ?? .object(base)
                if !(entry?.isOptional ?? member.isOptional) { required.append(member.name) }
            }
        } else {
            for (name, entry) in members {
                properties[name] = entry.json(of: ["type": "string"])
                if entry.isOptional != true { required.append(name) }
            }
        }
        var json: [String: JSONValue] = ["description": .string(sentence)]
        if !properties.isEmpty || schema == nil {
            json["type"] = "object"
            json["properties"] = .object(properties)
        }
        if !required.isEmpty { json["required"] = .array(required.sorted().map { .string($0) }) }
        return .object(json.merging(schema ?? [:]) { $1 })
    }
}

extension Member {
    /// - Parameter type: the schema of the member's Swift type.
    fileprivate func json(of type: [String: JSONValue]) -> JSONValue {
        if schema["$ref"] != nil { return .object(schema) }
        if type["$ref"] != nil { return isNullable ? ["anyOf": [.object(type), ["type": "null"]]] : .object(type) }
        var json = type.merging(schema) { $1 }
        if isNullable {
            json["type"] = json["type"].map { [$0, "null"] }
            if let values = json["enum"]?.array { json["enum"] = .array(values + [.null]) }
        }
        return .object(json)
    }
}
