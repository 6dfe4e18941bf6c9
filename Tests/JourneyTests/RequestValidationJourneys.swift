import Glibc
import Testing

/// The checks at the border of the real server process.
@Suite("The border") struct RequestValidationJourneys {
    private static func ask(_ port: UInt16, _ target: String, _ fields: String = "") throws -> String {
        let connection = try #require(RawConnection(port: port))
        connection.send("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n")
        return try #require(connection.answer()).text
    }

    @Test("Two credentials and disguised paths are refused with a problem that says what to do")
    func ambiguity() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await blocking {
                let key = "Authorization: Bearer \(Shop.secretKey)\r\n"
                let one = try Self.ask(port, "/v1/users/u1/wallet", key)
                #expect(one.hasPrefix("HTTP/1.1 200"))
                for second in [key, "authorization: Bearer other\r\n"] {
                    let two = try Self.ask(port, "/v1/users/u1/wallet", key + second)
                    #expect(two.hasPrefix("HTTP/1.1 400") && two.contains(#""code":"repeated_authorization""#))
                    #expect(two.contains("only one Authorization header"))
                }
                for path in ["/%64ashboard", "/dashboar%64", "/v1/orders/%2e%2e", "/v1/%6frders/1", "/%7e"] {
                    let answer = try Self.ask(port, path, key)
                    #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains(#""code":"encoded_unreserved""#))
                    #expect(answer.contains("write them as they are"))
                }
                #expect(try Self.ask(port, "/v1/users/%E5%AD%A6%20%25/wallet", key).hasPrefix("HTTP/1.1 200"))
            }
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("Answers must not be cached or type-sniffed; the catalogue is revalidated by its ETag")
    func headers() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await blocking {
                let key = "Authorization: Bearer \(Shop.secretKey)\r\n"
                for (target, fields) in [
                    ("/v1/users/u1/wallet", key), ("/v1/users/u1/wallet", ""), ("/v1/nowhere", ""),
                    ("/v1/transactions", ""), ("/v1/%6frders", ""),
                ] {
                    let answer = try Self.ask(port, target, fields)
                    #expect(answer.contains("Cache-Control: no-store\r\n"), "\(answer)")
                    #expect(answer.contains("X-Content-Type-Options: nosniff\r\n"), "\(answer)")
                }
                let catalog = try Self.ask(port, "/v1/products")
                #expect(catalog.contains("Cache-Control: no-cache\r\n") && catalog.contains("nosniff\r\n"))
                let tag = try #require(
                    catalog.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }
                ).dropFirst(6)
                #expect(try Self.ask(port, "/v1/products", "If-None-Match: \(tag)\r\n").hasPrefix("HTTP/1.1 304"))
            }
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }
}
