import Testing

@testable import TillAppStore
@testable import TillJSON

@Suite("Both JSON readers have the same limits")
struct JSONBoundTests {
    @Test("The tree's reader and the members' reader count depth alike", arguments: [62, 63, 64, 65, 66])
    func depth(levels: Int) {
        // The object is a level itself.
        for inner in ["", "1"] {
            let list = String(repeating: "[", count: levels - 1) + inner + String(repeating: "]", count: levels - 1)
            let text = "{\"a\":" + list + "}"
            #expect(((try? JSONValue(decoding: text)) != nil) == (levels <= JSONScanner.depthLimit))
            #expect(((try? JSONObject(Array(text.utf8))) != nil) == (levels <= JSONScanner.depthLimit))
        }
    }

    @Test(
        "Both readers refuse a number beyond the range of a double, at any place",
        arguments: [
            "1e999", "-1E+309", "1e309", String(repeating: "9", count: 309), String(repeating: "9", count: 310) + ".5",
        ])
    func endless(number: String) {
        for text in ["{\"a\":\(number)}", "{\"a\":[{\"b\":\(number)}]}"] {
            #expect(throws: JSONError.unexpected) { try JSONValue(decoding: text) }
            #expect(throws: JSONError.unexpected) { try JSONObject(Array(text.utf8)) }
        }
    }

    @Test(
        "Both readers accept a large number within the range of a double",
        arguments: ["1e308", "1e-999", String(repeating: "9", count: 308), "0." + String(repeating: "9", count: 400)])
    func large(number: String) throws {
        let text = "{\"a\":\(number)}"
        #expect(try JSONValue(decoding: text)["a"]?.number != nil)
        #expect(try JSONObject(Array(text.utf8)).has("a"))
    }
}
