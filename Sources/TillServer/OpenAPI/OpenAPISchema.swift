import TillAPI
import TillBilling
import TillHTTP
import TillJSON

/// The pieces that schemas are made of (JSON Schema 2020-12).
enum OpenAPISchema {
    /// An object. Members are required unless they are named as optional.
    static func object(
        _ description: String, _ properties: [String: JSONValue], optional: Set<String> = []
    ) -> JSONValue {
        let required = properties.keys.filter { !optional.contains($0) }.sorted()
        var members: [String: JSONValue] = [
            "type": "object", "description": .string(description), "properties": .object(properties),
        ]
        if !required.isEmpty { members["required"] = .array(required.map { .string($0) }) }
        return .object(members)
    }

    static func text(_ description: String, maximum: Int64? = nil) -> JSONValue {
        var members: [String: JSONValue] = ["type": "string", "description": .string(description)]
        if let maximum { members["maxLength"] = .int(maximum) }
        return .object(members)
    }

    /// What an outsider names: not empty, bounded, without control characters.
    static func name(_ description: String, maximum: Int64) -> JSONValue {
        [
            "type": "string", "minLength": 1, "maxLength": .int(maximum), "pattern": "^[^\\u0000-\\u001F\\u007F]*$",
            "description": .string("\(description) At most \(maximum) bytes, no control characters."),
        ]
    }

    static func integer(_ description: String, _ range: ClosedRange<Int64>? = nil) -> JSONValue {
        var members: [String: JSONValue] = [
            "type": "integer", "format": "int64", "description": .string(description),
        ]
        if let range {
            members["minimum"] = .int(range.lowerBound)
            members["maximum"] = .int(range.upperBound)
        }
        return .object(members)
    }

    /// Beside a status.
    static let sandboxMark = truth(
        "True for what was paid in the sandbox, where nobody pays: give no real goods for it. Absent otherwise.")

    static func truth(_ description: String) -> JSONValue { ["type": "boolean", "description": .string(description)] }

    static func words(_ description: String, _ words: [String]) -> JSONValue {
        ["type": "string", "description": .string(description), "enum": .array(words.map { .string($0) })]
    }

    static func uuid(_ description: String) -> JSONValue {
        ["type": "string", "format": "uuid", "description": .string(description)]
    }

    static func time(_ description: String) -> JSONValue {
        ["type": "string", "format": "date-time", "description": .string(description)]
    }

    static func list(_ description: String, of items: JSONValue) -> JSONValue {
        ["type": "array", "description": .string(description), "items": items]
    }

    /// The same, or null.
    static func orNull(_ schema: JSONValue) -> JSONValue {
        guard var members = schema.object, let type = members["type"] else {
            return ["anyOf": [schema, ["type": "null"]]]
        }
        members["type"] = [type, "null"]
        if let words = members["enum"]?.array { members["enum"] = .array(words + [.null]) }
        return .object(members)
    }

    static let userID = name(
        "A user of the app, as the app's backend names them.", maximum: Int64(UserID.maximumLength))

    /// One page of a list.
    static func page(of schema: String) -> JSONValue {
        object(
            "One page, newest first.",
            [
                "data": list("The page.", of: OpenAPI.ref(schema)), "hasMore": truth("Whether there are older ones."),
                "nextCursor": orNull(text("For `cursor`, to go on with older ones.")),
            ])
    }
}

extension OpenAPI {
    static let schemas: [String: JSONValue] = {
        var all: [String: JSONValue] = [:]
        for part in [
            orderSchemas, accountTokenSchemas, transactionSchemas, dropInSchemas, walletSchemas, consumptionSchemas,
            rightSchemas,
            planSchemas, offerSchemas, shopSchemas, dashboardSchemas, financeSchemas, transferSchemas, claimSchemas,
            reconciliationSchemas, webhookSchemas,
        ] {
            all.merge(part, uniquingKeysWith: { first, _ in first })
        }
        all["Problem"] = problem
        all["Money"] = OpenAPISchema.object(
            "An amount of money.",
            [
                "amount": OpenAPISchema.integer("Minor units: ¥6.00 is 600 CNY, ¥120 is 120 JPY."),
                "currency": OpenAPISchema.text("ISO 4217."),
            ])
        return all
    }()

    /// Codes that a listener answers with before any handler is asked.
    static let listenerCodes: [String] =
        BadRequest.allCases.map(\.rawValue)
        + [
            ListenerRefusal.bodyTooLarge(limit: 0), .headerTooLarge, .tooSlow, .methodNotImplemented,
            .stopping(retryAfter: 0), .cutOff(retryAfter: 0), .crowded(retryAfter: 0),
        ].map(\.code)

    private static let problem = OpenAPISchema.object(
        "Why not (RFC 9457).",
        [
            "type": OpenAPISchema.text("A URI that names the kind of problem: `urn:till:problem:` and the code."),
            "title": OpenAPISchema.text("One sentence for people, in their language."),
            "status": OpenAPISchema.integer("The HTTP status once more.", 400...599),
            "code": OpenAPISchema.words(
                "What programs decide by. More may come.", Refusal.allCases.map(\.rawValue) + listenerCodes),
            "retryable": OpenAPISchema.truth("Whether the very same request may go through later."),
            "requestId": OpenAPISchema.text("Names this answer when asking the operators."),
            "detail": OpenAPISchema.text("What exactly, for programmers, in English."),
        ], optional: ["detail"])
}
