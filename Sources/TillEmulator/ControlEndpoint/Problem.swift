import TillHTTP
import TillJSON
import TillSQL

/// An answer of the control API that says no, as RFC 9457 writes it, in the caller's language.
struct Problem: Error, Sendable {
    var status: Int
    /// Stable.
    var code: String
    var english: String
    var chinese: String
    var isRetryable = false

    static func badRequest(_ code: String, _ english: String, _ chinese: String) -> Problem {
        Problem(status: 400, code: code, english: english, chinese: chinese)
    }

    init(status: Int, code: String, english: String, chinese: String, isRetryable: Bool = false) {
        self.status = status
        self.code = code
        self.english = english
        self.chinese = chinese
        self.isRetryable = isRetryable
    }

    init(_ refusal: StoreRefusal) {
        self.init(
            status: refusal.status, code: refusal.code, english: refusal.english, chinese: refusal.chinese)
    }

    /// What a fault looks like from outside: the store can't answer now.
    init(fault error: any Error) {
        let isRetryable = (error as? DatabaseError)?.isRetryable ?? false
        self.init(
            status: isRetryable ? 503 : 500, code: isRetryable ? "unavailable" : "internal",
            english: "The emulator could not do this: \(error)", chinese: "模拟商店未能完成：\(error)",
            isRetryable: isRetryable)
    }

    func response(to request: HTTPRequest) -> HTTPResponse {
        let inChinese = Self.prefersChinese(request.headers["Accept-Language"] ?? "")
        let body: JSONValue = [
            "type": "about:blank", "title": .string(inChinese ? chinese : english), "status": .int(Int64(status)),
            "code": .string(code), "retryable": .bool(isRetryable),
        ]
        var response = HTTPResponse(status: status, body: Array(body.encoded().utf8))
        response.headers.add("Content-Type", "application/problem+json")
        response.headers.add("Content-Language", inChinese ? "zh" : "en")
        if status == 503 { response.headers.add("Retry-After", "1") }
        return response
    }

    /// Whether the first language named that we speak is Chinese.
    private static func prefersChinese(_ accepted: String) -> Bool {
        for language in accepted.lowercased().split(separator: ",") {
            let name = language.drop { $0 == " " }
            if name.hasPrefix("zh") { return true }
            if name.hasPrefix("en") { return false }
        }
        return false
    }
}

extension HTTPResponse {
    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        var response = HTTPResponse(status: status, body: Array(value.encoded().utf8))
        response.headers.add("Content-Type", "application/json")
        return response
    }
}
