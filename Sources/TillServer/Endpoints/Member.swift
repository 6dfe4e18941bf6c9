import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// What is said of a member of a body, or of a parameter, beside its type: a sentence, and its bounds. A sentence alone
/// is a string literal. Schemas are written from it, and requests are checked against it.
struct Member: Sendable, ExpressibleByStringInterpolation {
    /// JSON Schema, as far as the Swift type doesn't say it.
    var schema: [String: JSONValue]
    var bound: Bound?
    var isNullable = false
    /// Nil: as the Swift type has it.
    var isOptional: Bool?

    init(stringLiteral sentence: String) { schema = ["description": .string(sentence)] }

    private init(_ sentence: String, _ schema: [String: JSONValue], _ bound: Bound? = nil) {
        self.schema = schema
        if !sentence.isEmpty { self.schema["description"] = .string(sentence) }
        self.bound = bound
    }

    /// Of a parameter: text, unless it says otherwise.
    var json: JSONValue { .object(["type": "string"].merging(schema) { $1 }) }
}

// MARK: Kinds

extension Member {
    /// An identifier that outsiders choose: not empty, bounded, readable as it is.
    static func name(_ sentence: String, _ maximum: Int) -> Member {
        Member(
            "\(sentence) At most \(maximum) bytes, no control characters.",
            [
                "type": "string", "minLength": 1, "maxLength": .int(Int64(maximum)),
                "pattern": "^[^\\u0000-\\u001F\\u007F]*$",
            ], .identifier(maximum))
    }

    /// What a person writes to a person.
    static func prose(_ sentence: String, _ maximum: Int) -> Member {
        var member = name(sentence, maximum)
        member.bound = .prose(maximum)
        return member
    }

    static func text(_ sentence: String, _ maximum: Int) -> Member {
        Member(sentence, ["type": "string", "maxLength": .int(Int64(maximum))], .length(maximum))
    }

    /// - Parameter refusal: what it is refused with beyond the bounds.
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

    static func words(_ sentence: String, _ words: [String]) -> Member {
        Member(sentence, ["type": "string", "enum": .array(words.map { .string($0) })])
    }

    static func words<Words: CaseIterable & RawRepresentable<String>>(_ sentence: String, _: Words.Type) -> Member {
        words(sentence, Words.allCases.map(\.rawValue))
    }

    /// As requests and reports name an environment.
    static func environment(_ sentence: String) -> Member { words(sentence, ["production", "sandbox"]) }

    static func pattern(_ sentence: String, _ pattern: String) -> Member {
        Member(sentence, ["type": "string", "pattern": .string(pattern)])
    }

    static func uuid(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "uuid"]) }
    static func time(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "date-time"]) }
    static func day(_ sentence: String) -> Member { Member(sentence, ["type": "string", "format": "date"]) }
    static func truth(_ sentence: String) -> Member { Member(sentence, ["type": "boolean"]) }
    static func object(_ sentence: String) -> Member { Member(sentence, ["type": "object"]) }

    static func list(_ sentence: String, of body: String) -> Member {
        Member(sentence, ["type": "array", "items": OpenAPI.ref(body)])
    }

    static func list(_ sentence: String, _ count: ClosedRange<Int>) -> Member {
        Member(sentence, [:], .count(count))
    }

    static func ref(_ body: String) -> Member {
        var member: Member = ""
        member.schema = OpenAPI.ref(body).object ?? [:]
        return member
    }

    /// Always there, though the Swift type could do without.
    static func always(_ member: Member = "") -> Member {
        var member = member
        member.isOptional = false
        return member
    }

    /// Always there, and null where there is nothing to say.
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

    /// The handler checks it, because its bounds depend on what else the request says.
    var unchecked: Member {
        var member = self
        member.bound = nil
        return member
    }

    static let userID = name("A user of the app, as the app's backend names them.", UserID.maximumLength)

    /// Beside a status.
    static let sandbox: Member = .optional(
        .truth("True for what was paid in the sandbox, where nobody pays: give no real goods for it. Absent otherwise.")
    )

    static let orderStatus = words("Where an order stands.", OrderStatus.allCases.map(\.name))
}

// MARK: Checks

extension Member {
    /// What a request may say there. Types are the Swift type's to check.
    enum Bound: Sendable {
        case identifier(Int)
        case prose(Int)
        case length(Int)
        case range(ClosedRange<Int64>, Refusal)
        case count(ClosedRange<Int>)
    }
}

extension Member.Bound {
    /// - Throws: `Refused` with the member and what it may be.
    func check(_ value: JSONValue, of name: String) throws {
        switch (self, value) {
        case (.identifier(let maximum), .string(let text)): _ = try Bounds.string(text, name, maximum)
        case (.prose(let maximum), .string(let text)): _ = try Bounds.prose(text, name, maximum)
        case (.length(let maximum), .string(let text)):
            guard text.utf8.count <= maximum else { throw Refused(.invalidField, "\(name): at most \(maximum) bytes") }
        case (.range(let range, let refusal), .int(let number)):
            try Self.check(number, range, refusal, name)
        // A whole number may be written with a point or an exponent.
        case (.range(let range, let refusal), .double(let number)):
            try Self.check(Int64(exactly: number), range, refusal, name)
        case (.count(let range), .array(let elements)):
            guard range.contains(elements.count) else {
                throw Refused(.invalidField, "\(name): \(range.lowerBound) to \(range.upperBound)")
            }
        default: break
        }
    }

    private static func check(
        _ number: Int64?, _ range: ClosedRange<Int64>, _ refusal: Refusal, _ name: String
    ) throws {
        if let number, range.contains(number) { return }
        let detail = "\(name): \(range.lowerBound) to \(range.upperBound)"
        throw Refused(refusal, refusal == .invalidField ? detail : nil)
    }
}

extension Body {
    /// Holds a request to the bounds of its members.
    func check(_ request: JSONValue) throws {
        for (name, said) in members {
            guard let bound = said.bound, let value = request[name] else { continue }
            try bound.check(value, of: name)
        }
    }
}

extension Call {
    /// The request's body, of the type's members and within the bounds that are declared beside it.
    ///
    /// - Throws: `Refused` with the member that doesn't fit.
    func body<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONText.decode(type, from: request.body) { try Body.of(type)?.check($0) }
    }

    /// The same, where the body may be left out; nil then.
    func bodyIfAny<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        request.body.isEmpty ? nil : try body(type)
    }
}
