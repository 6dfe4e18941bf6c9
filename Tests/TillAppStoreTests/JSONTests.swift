import Testing
import TillJSON

@Suite("JSON is read strictly")
struct JSONTests {
    @Test("Values are read back as written, with integers distinct from fractions")
    func values() throws {
        let text =
            #" {"a":[1,-2.5,1e3,true,false,null],"b":{"c":"x\n\"\\\/\u00e9\ud83d\ude00é"},"#
            + #""d":9223372036854775807} "#
        let value = try JSONValue(decoding: text)
        #expect(value["a"] == [1, -2.5, 1000.0, true, false, nil])
        #expect(value["b"]?["c"]?.string == "x\n\"\\/é😀é")
        #expect(value["d"]?.int == .max)
        #expect(try JSONValue(decoding: value.encoded()) == value)
        #expect(try JSONValue(decoding: value.encoded(pretty: true)) == value)
        #expect(try JSONValue(decoding: "-9223372036854775808").int == .min)
        #expect(try JSONValue(decoding: "9223372036854775808") == .double(9_223_372_036_854_775_808))
    }

    @Test("Equal values have equal texts, with members in the order of their keys")
    func encoding() throws {
        let value: JSONValue = ["b": 1, "a": ["\u{1}\t", 0.5], "c": [:], "d": []]
        #expect(value.encoded() == #"{"a":["\u0001\t",0.5],"b":1,"c":{},"d":[]}"#)
        let members: [(key: String, value: JSONValue)] = [("b", 1), ("a", "x")]
        #expect(String(decoding: JSONValue.encodedBytes(of: members), as: UTF8.self) == #"{"a":"x","b":1}"#)
        #expect(value.encoded(pretty: true).hasPrefix("{\n  \"a\": [\n    \"\\u0001\\t\",\n"))
    }

    @Test("Text of every length is checked to its last byte, and no further")
    func lengths() throws {
        for length in 0...130 {
            let ascii = "\"" + String(repeating: "a", count: length) + "\""
            for beyond: [UInt8] in [[], [0xFF], [0xC3]] {
                // What follows in memory does not belong to the text.
                let memory = Array(ascii.utf8) + beyond
                let text = memory.dropLast(beyond.count)
                #expect(try JSONValue(decoding: text) == .string(String(repeating: "a", count: length)))
                guard !beyond.isEmpty else { continue }
                #expect(throws: JSONError.invalidUTF8) { try JSONValue(decoding: memory) }
            }
        }
    }

    @Test("A character that needs an escape is found at every place, also behind characters of several bytes")
    func escapesAtEveryPlace() throws {
        for special in ["\"", "\\", "\n", "\u{1F}", "\u{7F}", "é", "点", "😀"] {
            for length in 0...20 {
                for prefix in ["", "点", "é😀"] {
                    let text = prefix + String(repeating: "a", count: length) + special + "b" + special
                    let value = JSONValue.string(text)
                    #expect(try JSONValue(decoding: value.encodedBytes()) == value)
                    #expect(value.encoded().unicodeScalars.allSatisfy { $0.value >= 0x20 })
                }
            }
        }
    }

    @Test(
        "An object that repeats a key is refused, in any spelling and at any depth",
        arguments: [
            #"{"a":1,"a":2}"#, #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":1}"#, #"{"b":{"a":1,"a":null}}"#, #"[{"":1,"":1}]"#,
        ])
    func duplicates(text: String) {
        #expect(throws: JSONError.duplicateKey) { try JSONValue(decoding: text) }
    }

    @Test(
        "The place of a mistake is a line and a column (issue 20)",
        arguments: [
            ("{\n  \"a\": 1,\n}", JSONError.unexpected, 3, 1), ("{\"a\": }", .unexpected, 1, 7),
            ("{\"é😀\": x}", .unexpected, 1, 8), ("{\"a\": 1}\n\n  2", .trailing, 3, 3), ("", .unexpected, 1, 1),
            ("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", .duplicateKey, 3, 2), ("[1,\n\"a", .unexpected, 2, 1),
            (String(repeating: "[", count: 65), .tooDeep, 1, 65),
        ])
    func place(text: String, error: JSONError, line: Int, column: Int) throws {
        let mistake = try #require(JSONMistake(in: Array(text.utf8)))
        #expect(mistake.error == error && mistake.line == line && mistake.column == column, "\(mistake)")
    }

    @Test("A valid text has no mistake, and the first byte that is not UTF-8 is found")
    func bytes() {
        #expect(JSONMistake(in: Array("{\"a\": [1, 2]} ".utf8)) == nil)
        let mistake = JSONMistake(in: Array("{\n \"é".utf8) + [0xC0, 0x80] + Array("\"}".utf8))
        #expect(mistake?.error == .invalidUTF8 && mistake?.line == 2 && mistake?.column == 4)
    }

    @Test(
        "A text that is not JSON is refused",
        arguments: [
            "", " ", "{", "}", "[", "[1,]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "01", "1.", ".5", "-", "+1", "1e", "0x1",
            "NaN", "Infinity", "tru", "nul", "\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "1 2", "[1 2]",
            "{\"a\":1 \"b\":2}", "'a'", "{\"a\":1}x", "--1", "1e400",
        ])
    func refused(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(decoding: text) }
    }

    @Test("Text that is not UTF-8 is refused")
    func notUTF8() {
        let bad: [[UInt8]] = [
            [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xFF], [0xE0, 0x9F, 0xBF], [0xF4, 0x90, 0x80, 0x80],
        ]
        for bytes in bad {
            #expect(throws: JSONError.invalidUTF8) { try JSONValue(decoding: [0x22] + bytes + [0x22]) }
        }
        #expect(throws: Never.self) { try JSONValue(decoding: "\"\u{7FF}\u{FFFF}\u{10FFFF}\"") }
    }

    @Test("Half a surrogate pair is read as a replacement character, and depth is limited")
    func oddities() throws {
        #expect(try JSONValue(decoding: #""\ud800x\udc00""#).string == "\u{FFFD}x\u{FFFD}")
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONError.tooDeep) { try JSONValue(decoding: deep) }
        let bearable = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(throws: Never.self) { try JSONValue(decoding: bearable) }
    }
}
