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

    /// Bytes are read eight at a time, so each place in such a group and each length are tried.
    @Test("A string's end and what it may not contain are found at any place", arguments: 0...17)
    func places(count: Int) {
        func string(_ middle: [UInt8]) -> [UInt8] {
            Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: count) + middle + Array("\"}".utf8)
        }
        for tail in 0...9 {
            let rest = [UInt8](repeating: 0x7A, count: tail)
            let allowed: [[UInt8]] = [
                [0x5C, 0x22], [0x5C, 0x5C], [0xC3, 0xA9], [0xF0, 0x9F, 0x98, 0x80], [0x7F], [0x20],
            ]
            for special in allowed {
                let value = (try? JSONObject(string(special + rest))).flatMap { try? $0.string("a") }
                #expect(value?.utf8.count == count + tail + (special[0] == 0x5C ? 1 : special.count))
            }
            for control: UInt8 in [0x00, 0x0A, 0x1F] {
                #expect(throws: JSONError.unexpected) { try JSONObject(string([control] + rest)) }
            }
            for wrong in [[0x80], [0xFF], [0xC3], [0xC0, 0xAF], [0xED, 0xA0, 0x80]] as [[UInt8]] {
                #expect(throws: JSONError.invalidUTF8) { try JSONObject(string(wrong + rest)) }
            }
            #expect(throws: JSONError.unexpected) { try JSONObject(Array(string(rest).dropLast(2))) }
        }
    }
}
