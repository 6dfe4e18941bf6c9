import Testing

@testable import TillHTTP

@Suite struct PercentEncodingTests {
    @Test(
        "Escapes become bytes, and bytes text",
        arguments: [
            ("", ""), ("abc", "abc"), ("a%20b", "a b"), ("%e5%AD%a6", "学"), ("a+b", "a+b"), ("%25%2B", "%+"),
            ("学", "学"),
        ])
    func decodes(_ encoded: String, _ decoded: String) throws {
        #expect(try PercentEncoding.decode(encoded.utf8) == decoded)
    }

    @Test(
        "An invalid escape, and bytes that are no text, are refused",
        arguments: [
            ("%", HTTPRequestError.badEscape), ("%1", .badEscape), ("%g0", .badEscape), ("%0g", .badEscape),
            ("%%20", .badEscape), ("%00", .badTargetText), ("%ff", .badTargetText), ("%e5%ad", .badTargetText),
            ("%c0%af", .badTargetText),
        ])
    func refuses(_ encoded: String, _ error: HTTPRequestError) {
        #expect(throws: error) { try PercentEncoding.decode(encoded.utf8) }
    }

    /// Comparing a text with a longer run takes quadratic time: eight kilobytes of path took a second in the router.
    @Test("Thirty combining marks in a row are text, thirty-one are not", arguments: ["%CC%80", "%E0%BD%B3"])
    func marks(mark: String) throws {
        #expect(throws: Never.self) { try PercentEncoding.decode(("e" + String(repeating: mark, count: 30)).utf8) }
        #expect(throws: HTTPRequestError.badTargetText) {
            try PercentEncoding.decode(("e" + String(repeating: mark, count: 31)).utf8)
        }
    }

    @Test("A form's items come in order, with plus for space and without the empty ones")
    func items() throws {
        let items = try PercentEncoding.items("a=1&b=%26+%3D&&c&=d&a=2&e==f".utf8)
        #expect(items.map(\.name) == ["a", "b", "c", "", "a", "e"])
        #expect(items.map(\.value) == ["1", "& =", "", "d", "2", "=f"])
        #expect(try PercentEncoding.items("".utf8).isEmpty)
    }

    @Test("The number of items is limited")
    func bounds() throws {
        let form = String(repeating: "a=b&", count: 10)
        #expect(try PercentEncoding.items(form.utf8, limit: 10).count == 10)
        #expect(throws: HTTPRequestError.tooManyQueryItems) { try PercentEncoding.items(form.utf8, limit: 9) }
    }
}
