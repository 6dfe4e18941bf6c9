import Testing

@testable import TillHTTP

/// Requests that break the rules of HTTP are refused before a handler sees them, and the connection is closed.
@Suite struct RequestValidationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        let status: Int
        /// Nil where libmicrohttpd itself refuses, with its own page.
        let code: String?
        var testDescription: String { name }

        init(_ name: String, _ text: String, status: Int = 400, _ code: String?) {
            self.init(name, Array(text.utf8), status: status, code)
        }

        init(_ name: String, _ bytes: [UInt8], status: Int = 400, _ code: String?) {
            (self.name, self.bytes, self.status, self.code) = (name, bytes, status, code)
        }
    }

    private static func get(_ target: String, _ fields: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: t\r\n\(fields)\r\n"
    }

    private static func post(_ fields: String, _ body: String = "abc") -> String {
        "POST / HTTP/1.1\r\nHost: t\r\n\(fields)\r\n\(body)"
    }

    static let cases: [Case] = [
        Case("no Host", "GET / HTTP/1.1\r\n\r\n", "missing_host"),
        Case("two Hosts", get("/", "Host: u\r\n"), "repeated_host"),
        Case("two Content-Lengths", post("Content-Length: 3\r\nContent-Length: 3\r\n"), "repeated_content_length"),
        Case("a list of lengths", post("Content-Length: 3, 3\r\n"), nil),
        Case("a length with a sign", post("Content-Length: +3\r\n"), nil),
        Case("a length past any memory", post("Content-Length: 1000000000000000000\r\n"), "bad_content_length"),
        Case(
            "a length beside chunks", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            "content_length_beside_transfer_encoding"),
        Case("an unknown coding", post("Transfer-Encoding: gzip, chunked\r\n"), "bad_transfer_encoding"),
        Case(
            "two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            "bad_transfer_encoding"),
        Case(
            "chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "bad_transfer_encoding"),
        Case("a chunk longer than it says", post("Transfer-Encoding: chunked\r\n", "3\r\nabcde\r\n0\r\n\r\n"), nil),
        Case("a space before the colon", get("/", "X : y\r\n"), "bad_header_name"),
        Case("a space before the colon of Host", "GET / HTTP/1.1\r\nHost : t\r\n\r\n", "bad_header_name"),
        Case("a field without a name", get("/", ": y\r\n"), "ambiguous_lines"),
        Case("a field without a colon", get("/", "garbage\r\n"), nil),
        Case("a NUL in a name", get("/", "X\0Y: z\r\n"), nil),
        Case("a NUL in a value", get("/", "X: a\0b\r\n"), "ambiguous_lines"),
        Case("a NUL at the end of a value", get("/", "X: a\0\r\n"), "ambiguous_lines"),
        Case("a bare CR in a value", get("/", "X: a\rHost: b\r\n"), "bad_header_value"),
        Case("a control character in a value", get("/", "X: a\u{1}b\r\n"), "bad_header_value"),
        Case(
            "too many combining marks", get("/", "X: e\(String(repeating: "\u{300}", count: 31))\r\n"),
            "bad_header_value"),
        Case("a DEL in a value", get("/", "X: a\u{7F}b\r\n"), "bad_header_value"),
        Case("bare LFs", "GET / HTTP/1.1\nHost: t\n\n", "ambiguous_lines"),
        Case("one bare LF", "GET / HTTP/1.1\r\nHost: t\nX: y\r\n\r\n", "ambiguous_lines"),
        Case("a bare LF at the header's end", "GET / HTTP/1.1\r\nHost: t\r\n\n", "ambiguous_lines"),
        Case("a folded line", get("/", "X: y\r\n z\r\n"), "ambiguous_lines"),
        Case("a fold on the first line", "GET / HTTP/1.1\r\n X: y\r\nHost: t\r\n\r\n", "bad_header_name"),
        Case("two spaces before the target", "GET  / HTTP/1.1\r\nHost: t\r\n\r\n", "ambiguous_lines"),
        Case("a space in the target", get("/a b"), "bad_target"),
        Case("a NUL in the target", get("/a\0b"), "ambiguous_lines"),
        Case("an escaped NUL", get("/a%00b"), "bad_target_text"),
        Case("an escaped line feed", get("/a%0Ab"), "bad_target_text"),
        Case("an escaped slash", get("/a%2fb"), "encoded_slash"),
        Case("an escaped letter", get("/%64ashboard"), "encoded_unreserved"),
        Case("an escaped dot", get("/a/%2e%2e/b"), "encoded_unreserved"),
        Case("an escaped tilde", get("/%7Ea"), "encoded_unreserved"),
        Case(
            "two credentials", get("/", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
            "repeated_authorization"),
        Case(
            "the same credential twice", get("/", "Authorization: Bearer a\r\nauthorization: Bearer a\r\n"),
            "repeated_authorization"),
        Case("an escape that is none", get("/a%zz"), "bad_escape"),
        Case("an escape cut short", get("/a%2"), "bad_escape"),
        Case("an escape that is none in the query", get("/?a=%"), "bad_escape"),
        Case("an escaped NUL in the query", get("/?a=%00"), "bad_target_text"),
        Case("escapes that are not UTF-8", get("/%FF"), "bad_target_text"),
        Case(
            "bytes that are not UTF-8",
            Array("GET /".utf8) + [0xFF] + Array(" HTTP/1.1\r\nHost: t\r\n\r\n".utf8), "bad_target_text"),
        Case("no slash", get("a"), "bad_target"),
        Case("a whole URL", get("http://t/"), "bad_target"),
        Case("a fragment", get("/#x"), "bad_target"),
        Case("101 query items", get("/?" + String(repeating: "a&", count: 101)), "too_many_query_items"),
        Case("5,000 query items", get("/?" + String(repeating: "a&", count: 5_000)), "too_many_query_items"),
        Case("101 fields", get("/", String(repeating: "X: y\r\n", count: 100)), status: 431, "header_too_large"),
        Case(
            "a long field", get("/", "X: \(String(repeating: "y", count: 9_000))\r\n"), status: 431,
            "header_too_large"),
        Case("a long target", get("/" + String(repeating: "y", count: 9_000)), status: 431, "header_too_large"),
        Case("a field past the buffer", get("/", "X: \(String(repeating: "y", count: 60_000))\r\n"), status: 431, nil),
        Case("an unknown method", "BREW / HTTP/1.1\r\nHost: t\r\n\r\n", status: 501, "method_not_implemented"),
        Case("a method in lower case", "get / HTTP/1.1\r\nHost: t\r\n\r\n", status: 501, "method_not_implemented"),
        Case("HTTP/2.0", "GET / HTTP/2.0\r\nHost: t\r\n\r\n", status: 505, nil),
    ]

    @Test("A request that can be read in two ways is refused and the connection closed", arguments: cases)
    func refuses(_ one: Case) async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send(one.bytes)
            let reply = try #require(connection.receive())
            #expect(reply.status == one.status)
            #expect(reply.header("Connection")?.lowercased() == "close")
            if let code = one.code {
                #expect(reply.header("Content-Type") == "application/problem+json")
                #expect(reply.text.contains(#""code":"\#(code)""#))
                for field in ["type", "title", "status", "retryable", "requestId"] {
                    #expect(reply.text.contains(#""\#(field)":"#))
                }
                #expect(connection.isClosedByPeer())
            } else {
                // For a bad length, libmicrohttpd sends its answer's header twice.
                #expect(connection.isClosedAfterAll())
            }
        }
    }

    static let good: [Case] = [
        Case("blanks around a value", get("/", "X: \t y \t \r\n"), status: 200, nil),
        Case("no blank before a value", get("/", "X:y\r\n"), status: 200, nil),
        Case("an empty value", get("/", "X:\r\nY: \r\n"), status: 200, nil),
        Case("a tab in a value", get("/", "X: a\tb\r\n"), status: 200, nil),
        Case(
            "Latin-1 in a value", Array("GET / HTTP/1.1\r\nHost: t\r\nX: ".utf8) + [0xE9] + Array("\r\n\r\n".utf8),
            status: 200,
            nil),
        Case("an empty line before the request", "\r\n" + get("/"), status: 200, nil),
        Case("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", status: 200, nil),
        Case("escapes that are needed in the path", get("/a%20%25%3A%C3%A9?%61=%2e"), status: 200, nil),
        Case("UTF-8 in the target", get("/学点?名=值"), status: 200, nil),
        Case("100 query items", get("/?" + String(repeating: "a&", count: 100)), status: 200, nil),
        Case("100 fields", get("/", String(repeating: "X: y\r\n", count: 99)), status: 200, nil),
        Case(
            "a field just within the limit", get("/", "X: \(String(repeating: "y", count: 8_100))\r\n"), status: 200,
            nil),
        Case("cookies", get("/", "Cookie: a=b; c=d\r\nCookie: e=f\r\nX: y\r\n"), status: 200, nil),
        Case(
            "a hundred cookies of 7,800 bytes",
            get("/", "Cookie: \((100..<200).map { "c\($0)=\(String(repeating: "v", count: 71)); " }.joined())d=e\r\n"),
            status: 200, nil),
        Case("a cookie that is none", get("/", "Cookie: ;;=;\"\r\nX: y\r\n"), status: 200, nil),
        Case(
            "a chunk extension", post("Transfer-Encoding: chunked\r\n", "3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n"),
            status: 200, nil),
    ]

    @Test("Requests that HTTP allows are accepted, in one piece or byte by byte", arguments: good, [false, true])
    func accepts(_ one: Case, _ isByByte: Bool) async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            if isByByte { for byte in one.bytes { connection.send([byte]) } } else { connection.send(one.bytes) }
            let reply = try #require(connection.receive())
            #expect(reply.status == 200)
        }
    }

    @Test("Values lose the whitespace around them and keep the rest; names are found in any case")
    func values() async throws {
        try await withListener(handler: { request in
            HTTPResponse(status: 200, body: Array("[\(request.headers["x-one"] ?? "-")]".utf8))
        }) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET / HTTP/1.1\r\nHost: t\r\nX-ONE:  a b \t\r\n\r\n")
            #expect(try #require(connection.receive()).text == "[a b]")
        }
    }

    @Test("A refusal is in Chinese if the request asks for Chinese, and the server can supply its own wording")
    func languages() async throws {
        try await withListener { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET /%zz HTTP/1.1\r\nHost: t\r\nAccept-Language: zh-CN,zh;q=0.9\r\n\r\n")
            let reply = try #require(connection.receive())
            #expect(reply.header("Content-Language") == "zh")
            #expect(reply.text.contains("请求不符合"))
        }
        var configuration = ListenerConfiguration()
        configuration.refusal = { refusal, language in
            HTTPResponse(status: refusal.status, body: Array("\(refusal.code) \(language ?? "-")".utf8))
        }
        try await withListener(configuration) { listener in
            let connection = try #require(RawConnection(port: listener.port))
            connection.send("GET /%zz HTTP/1.1\r\nHost: t\r\nAccept-Language: fr\r\n\r\n")
            #expect(try #require(connection.receive()).text == "bad_escape fr")
        }
    }

    @Test("An unknown version of libmicrohttpd stops the start, unless the configuration allows it")
    func unknownLibrary() async throws {
        var configuration = ListenerConfiguration()
        configuration.libraryVersion = "1.0.0"
        #expect(throws: ListenerError.unknownLibrary(version: "1.0.0")) {
            _ = try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
        }
        configuration.takesUnknownLibrary = true
        let listener = try Listener(configuration: configuration, bodyLimit: { _, _ in 0 }, handler: echo)
        #expect(listener.port > 0)
        await listener.stop(grace: 0)
    }
}
