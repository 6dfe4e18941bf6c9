import TillBilling
import TillJSON

/// What is wrong with a body that should be Apple's JSON.
struct AnswerMalformation: Error {
    let detail: String
    init(_ detail: String) { self.detail = detail }
}

/// The members of an answer: what must be there, and what may. Unknown members are passed over.
struct AnswerFields {
    private let json: JSONObject

    init(_ json: JSONObject) { self.json = json }

    /// Most objects that an answer may hold. A page has twenty entries of eight objects at most; a small object costs
    /// five hundred times its text, so four megabytes of them are not read.
    static let objectLimit = 4_096

    /// - Parameter body: one JSON object in UTF-8.
    init(_ body: [UInt8]) throws(AnswerMalformation) {
        guard body.count(where: { $0 == UInt8(ascii: "{") }) <= Self.objectLimit else {
            throw AnswerMalformation("more than \(Self.objectLimit) objects")
        }
        self.init(try Self.reading("body") { () throws(JSONError) in try JSONObject(body) })
    }

    func required<Value>(_ key: StaticString, _ value: Value?) throws(AnswerMalformation) -> Value {
        guard let value else { throw AnswerMalformation("\(key) is missing") }
        return value
    }

    func string(_ key: StaticString) throws(AnswerMalformation) -> String? {
        try Self.reading(key) { () throws(JSONError) in try json.string(key) }
    }

    func strings(_ key: StaticString) throws(AnswerMalformation) -> [String]? {
        try Self.reading(key) { () throws(JSONError) in try json.strings(key) }
    }

    func int64(_ key: StaticString) throws(AnswerMalformation) -> Int64? {
        try Self.reading(key) { () throws(JSONError) in try json.int64(key) }
    }

    func bool(_ key: StaticString) throws(AnswerMalformation) -> Bool? {
        try Self.reading(key) { () throws(JSONError) in try json.bool(key) }
    }

    func instant(_ key: StaticString) throws(AnswerMalformation) -> Instant? {
        try Self.reading(key) { () throws(JSONError) in try json.instant(key) }
    }

    func objects(_ key: StaticString) throws(AnswerMalformation) -> [AnswerFields]? {
        try Self.reading(key) { () throws(JSONError) in try json.objects(key) }?.map(AnswerFields.init)
    }

    private static func reading<Value>(
        _ what: StaticString, _ read: () throws(JSONError) -> Value
    ) throws(AnswerMalformation) -> Value {
        do { return try read() } catch { throw AnswerMalformation("\(what): \(error.rawValue)") }
    }
}
