import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// The description of a body's member or of a parameter, in addition to its type: a sentence and its bounds. A string
/// literal gives the sentence alone. Schemas are generated from it, and requests are checked against it.
struct Member: Sendable, ExpressibleByStringInterpolation {
    /// JSON Schema, as far as the Swift type does not state it.
    var schema: [String: JSONValue]
    var bound: Bound?
    var isNullable = false
    /// Nil: as the Swift type states.
    var isOptional: Bool?

    init(stringLiteral sentence: String) { schema = ["description": .string(sentence)] }

    private init(_ sentence: String, _ schema: [String: JSONValue], _ bound: Bound? = nil) {
        self.schema = schema
        if !sentence.isEmpty { self.schema["description"] = .string(sentence) }
        self.bound = bound
    }

    /// The schema of a parameter: text by default.
    var json: JSONValue { .object(["type": "string"].merging(schema) { $1 }) }
}

// MARK: Kinds

extension Member {
    /// An identifier that the caller chooses: not empty, bounded, without control characters.
    static func name(_ sentence: String, _ maximum: Int) -> Member {
        Member(
            "\(sentence) At most \(maximum) bytes, no control characters.",
            [
                "type": "string", "minLength": 1, "maxLength": .int(Int64(maximum)),
                "pattern": "^[^\\u0000-\\u001F\\u007F]*$",
            ], .identifier(maximum))
    }

    /// Text that a person writes for people.
    static func prose(_ sentence: String, _ maximum: Int) -> Member {
        var member = name(sentence, maximum)
        member.bound = .prose(maximum)
        return member
    }

    static func text(_ sentence: String, _ maximum: Int) -> Member {
        Member(sentence, ["type": "string", "maxLength": .int(Int64(maximum))], .length(maximum))
    }

    /// - Parameter refusal: the refusal of a value outside the range.
    static func integer(
        _ sentence: String, _ range: ClosedRange<Int64>? = nil, else refusal: Refusal = .invalidField
    ) -> Member {
        var schema: [String: JSONValue] = ["type": "integer", "format": "int64"]
        if let range {
            schema["minimum"] = .int(range.lowerBound)
            schema["maximum"] = .int(range.upperBound)
        }
        return Member(sentence, schema, range.map { .range($0, refusal) })
    }

    static func oneOf(_ sentence: String, _ values: [String]) -> Member {
        Member(sentence, ["type": "string", "enum": .array(values.map { .string($0) })])
    }

    static func oneOf<Values: CaseIterable & RawRepresentable<String>>(_ sentence: String, _: Values.Type) -> Member {
        oneOf(sentence, Values.allCases.map(\.rawValue))
    }

    /// The names of environments in requests and reports.
    static func environment(_ sentence: String) -> Member { oneOf(sentence, ["production", "sandbox", "xcode"]) }

    static func pattern(_ sentence: String, _ pattern: String) -> Member {
        Member(sentence, ["type": "string", "pattern": .string(pattern)])
    }

    static func uuid(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "uuid"]) }
    static func time(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "date-time"]) }
    static func day(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "date"]) }
    static func boolean(_ sentence: String) -> Member { Member(sentence, ["type": "boolean"]) }
    static func object(_ sentence: String) -> Member { Member(sentence, ["type": "object"]) }

    static func list(_ sentence: String, of body: String) -> Member {
        Member(sentence, ["type": "array", "items": OpenAPI.ref(body)])
    }

    static func list(_ sentence: String, _ count: ClosedRange<Int>) -> Member {
        Member(sentence, [:], .count(count))
    }

    static func list<Values: CaseIterable & RawRepresentable<String>>(_ sentence: String, ofSome _: Values.Type)
        -> Member
    {
        Member(
            sentence,
            [
                "type": "array",
                "items": ["type": "string", "enum": .array(Values.allCases.map { .string($0.rawValue) })],
            ])
    }

    static func ref(_ body: String) -> Member {
        var member: Member = ""
        member.schema = OpenAPI.ref(body).object ?? [:]
        return member
    }

    /// Always present, although the Swift type is optional.
    static func always(_ member: Member = "") -> Member {
        var member = member
        member.isOptional = false
        return member
    }

    /// Always present; null without a value.
    static func orNull(_ member: Member = "") -> Member {
        var member = always(member)
        member.isNullable = true
        return member
    }

    static func optional(_ member: Member) -> Member {
        var member = member
        member.isOptional = true
        return member
    }

    /// Without a check: the handler checks it, because its bounds depend on the rest of the request.
    var unchecked: Member {
        var member = self
        member.bound = nil
        return member
    }

    static let userID = name("The id that the app's backend gave the user.", UserID.maximumLength)

    /// Accompanies a status.
    static let sandbox: Member = .optional(
        .boolean(
            "True for a purchase made in the sandbox or in Xcode, where no money is paid: deliver no real goods. "
                + "Absent otherwise.")
    )

    static let orderStatus = oneOf("The order's status.", OrderStatus.allCases.map(\.name))
}

// MARK: Checks

extension Member {
    /// The values that a request may give. The Swift type checks the types.
    enum Bound: Sendable {
        case identifier(Int)
        case prose(Int)
        case length(Int)
        case range(ClosedRange<Int64>, Refusal)
        case count(ClosedRange<Int>)
    }
}

extension Member.Bound {
    /// - Throws: `RefusalError` with the member and its allowed values.
    func check(_ value: JSONValue, of name: String) throws {
        switch (self, value) {
        case (.identifier(let maximum), .string(let text)): _ = try InputLimits.string(text, name, maximum)
        case (.prose(let maximum), .string(let text)): _ = try InputLimits.prose(text, name, maximum)
        case (.length(let maximum), .string(let text)):
            guard text.utf8.count <= maximum else {
                throw RefusalError(.invalidField, "\(name): at most \(maximum) bytes", zh: "\(name)：最多 \(maximum) 字节")
            }
        case (.range(let range, let refusal), .int(let number)):
            try Self.check(number, range, refusal, name)
        // JSON may write a whole number with a point or an exponent.
        case (.range(let range, let refusal), .double(let number)):
            try Self.check(Int64(exactly: number), range, refusal, name)
        case (.count(let range), .array(let elements)):
            guard range.contains(elements.count) else {
                throw RefusalError(
                    .invalidField, "\(name): \(range.lowerBound) to \(range.upperBound)",
                    zh: "\(name)：应为 \(range.lowerBound) 到 \(range.upperBound)")
            }
        default: break
        }
    }

    private static func check(
        _ number: Int64?, _ range: ClosedRange<Int64>, _ refusal: Refusal, _ name: String
    ) throws {
        if let number, range.contains(number) { return }
        let detail = LocalizedText(
            en: "\(name): \(range.lowerBound) to \(range.upperBound)",
            zh: "\(name)：应为 \(range.lowerBound) 到 \(range.upperBound)")
        throw RefusalError(refusal, detail: refusal == .invalidField ? detail : nil)
    }
}

extension Body {
    /// Checks a request against the bounds of its members.
    func check(_ request: JSONValue) throws {
        for (name, entry) in members {
            guard let bound = entry.bound, let value = request[name] else { continue }
            try bound.check(value, of: name)
        }
    }
}

extension Call {
    /// The request's body, checked against the type's members and the bounds declared for them.
    ///
    /// - Throws: `RefusalError` with the invalid member.
    func body<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONText.decode(type, from: request.body) { try Body.of(type)?.check($0) }
    }

    /// The same for an optional body; nil if it is absent.
    func bodyIfAny<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        request.body.isEmpty ? nil : try body(type)
    }
}
