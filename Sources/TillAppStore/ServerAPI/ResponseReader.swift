import TillBilling
import TillJSON

/// Distinguishes Apple's responses from a proxy's page, a captive portal's redirect and a truncated body. None of those
/// says anything about a purchase.
struct ResponseReader {
    private let call: ServerAPICall

    /// The longest error message that is kept, in characters.
    static let messageLimit = 500

    init(_ call: ServerAPICall) { self.call = call }

    /// The JSON object of a successful response.
    func fields(of answer: AppleResponse, from environment: StoreEnvironment) throws(ServerAPIError) -> ResponseFields {
        try checkStatus(of: answer, from: environment)
        return try json(in: answer)
    }

    /// Checks a successful response without a body. An empty JSON object is accepted; an HTML page is not.
    func expectEmpty(in answer: AppleResponse, from environment: StoreEnvironment) throws(ServerAPIError) {
        try checkStatus(of: answer, from: environment)
        if !answer.body.allSatisfy(Self.isBlank) { _ = try json(in: answer) }
    }

    private func checkStatus(of answer: AppleResponse, from environment: StoreEnvironment) throws(ServerAPIError) {
        switch answer.status {
        case call.success: return
        case 300..<400: throw unreadable(.redirect, answer, answer.header("Location") ?? "")
        case 401: throw .unauthorized(environment, reason: emulatorsReason(in: answer))
        case 400...: throw refusal(in: answer)
        default: throw unreadable(.status, answer)
        }
    }

    /// Why an emulated store answers 401, by its own code. Apple documents no body for this status (facts/server-api
    /// §2).
    private func emulatorsReason(in answer: AppleResponse) -> String? {
        guard let fields = try? json(in: answer), (try? fields.int64("errorCode")) == 4_010_000,
            let text = try? fields.string("errorMessage")
        else { return nil }
        return String(text.prefix(Self.messageLimit))
    }

    /// Apple's error, if the body contains one; any other body with an error status is unreadable.
    private func refusal(in answer: AppleResponse) -> ServerAPIError {
        do throws(ServerAPIError) {
            let fields = try json(in: answer)
            guard let code = try? fields.int64("errorCode") else { return unreadable(.status, answer, "no errorCode") }
            guard code / 10_000 == answer.status else {
                return unreadable(.contradiction, answer, "errorCode \(code)")
            }
            let message = String(((try? fields.string("errorMessage")) ?? "").prefix(Self.messageLimit))
            let refusal = ServerAPIRefusal(
                code: ServerAPIErrorCode(rawValue: code), message: message, status: answer.status)
            return .refused(refusal)
        } catch {
            return error
        }
    }

    private func json(in answer: AppleResponse) throws(ServerAPIError) -> ResponseFields {
        guard let first = answer.body.first(where: { !Self.isBlank($0) }) else { throw unreadable(.empty, answer) }
        if let type = answer.header("Content-Type"), !Self.isJSON(type) {
            let isPage = Self.mediaType(type) == "text/html" || first == UInt8(ascii: "<")
            throw unreadable(isPage ? .html : .contentType, answer, String(type.prefix(100)))
        }
        if first == UInt8(ascii: "<") { throw unreadable(.html, answer) }
        return try ResponseFields(answer.body, status: answer.status)
    }

    private func unreadable(
        _ reason: UnreadableResponse.Reason, _ answer: AppleResponse, _ detail: String = ""
    ) -> ServerAPIError {
        .unreadable(UnreadableResponse(reason, status: answer.status, String(detail.prefix(Self.messageLimit))))
    }

    private static func isJSON(_ type: String) -> Bool {
        let name = mediaType(type)
        return name == "application/json" || (name.hasPrefix("application/") && name.hasSuffix("+json"))
    }

    /// Without parameters, in lower case.
    private static func mediaType(_ type: String) -> String {
        let name = type.prefix { $0 != ";" }.lowercased()
        return String(name.filter { $0 != " " && $0 != "\t" })
    }

    private static func isBlank(_ unit: UInt8) -> Bool {
        unit == 0x20 || unit == 0x09 || unit == 0x0A || unit == 0x0D
    }
}

/// The members of a response, required and optional. Unknown members are ignored.
struct ResponseFields {
    private let json: JSONObject
    /// The HTTP status, for errors.
    private let status: Int

    init(_ json: JSONObject, status: Int) {
        self.json = json
        self.status = status
    }

    /// The maximum of objects in a response. A page has at most twenty entries of eight objects; parsing a small object
    /// takes five hundred times the memory of its text, so the number is limited.
    static let objectLimit = 4_096

    /// - Parameter body: one JSON object in UTF-8.
    init(_ body: [UInt8], status: Int) throws(ServerAPIError) {
        guard body.count(where: { $0 == UInt8(ascii: "{") }) <= Self.objectLimit else {
            throw Self.malformed("more than \(Self.objectLimit) objects", status)
        }
        do {
            self.init(try JSONObject(body), status: status)
        } catch {
            throw Self.malformed("body: \(error.rawValue)", status)
        }
    }

    /// For a body that is not the JSON that Apple documents.
    func malformed(_ detail: String) -> ServerAPIError { Self.malformed(detail, status) }

    private static func malformed(_ detail: String, _ status: Int) -> ServerAPIError {
        .unreadable(UnreadableResponse(.malformed, status: status, detail))
    }

    func required<Value>(_ key: StaticString, _ value: Value?) throws(ServerAPIError) -> Value {
        guard let value else { throw malformed("\(key) is missing") }
        return value
    }

    func string(_ key: StaticString) throws(ServerAPIError) -> String? {
        try reading(key) { () throws(JSONError) in try json.string(key) }
    }

    func strings(_ key: StaticString) throws(ServerAPIError) -> [String]? {
        try reading(key) { () throws(JSONError) in try json.strings(key) }
    }

    func int64(_ key: StaticString) throws(ServerAPIError) -> Int64? {
        try reading(key) { () throws(JSONError) in try json.int64(key) }
    }

    func bool(_ key: StaticString) throws(ServerAPIError) -> Bool? {
        try reading(key) { () throws(JSONError) in try json.bool(key) }
    }

    func instant(_ key: StaticString) throws(ServerAPIError) -> Instant? {
        try reading(key) { () throws(JSONError) in try json.instant(key) }
    }

    func objects(_ key: StaticString) throws(ServerAPIError) -> [ResponseFields]? {
        try reading(key) { () throws(JSONError) in try json.objects(key) }?.map {
            ResponseFields($0, status: status)
        }
    }

    private func reading<Value>(
        _ what: StaticString, _ read: () throws(JSONError) -> Value
    ) throws(ServerAPIError) -> Value {
        do { return try read() } catch { throw malformed("\(what): \(error.rawValue)") }
    }
}
