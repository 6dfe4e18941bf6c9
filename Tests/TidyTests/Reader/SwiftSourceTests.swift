import Testing

@Suite("The reader that separates code from comments and literals")
struct SwiftSourceTests {
    private func code(_ text: String) -> String {
        SwiftSource(path: "Sample.swift", text: text).code.map { $0.split(separator: " ").joined(separator: " ") }
            .joined(separator: "\n")
    }

    @Test(
        "Comments and the insides of literals are blanked, code stays",
        arguments: [
            ("let a = 1 // Date()", "let a = 1"),
            ("let a = /* one /* two */ Date() */ 1", "let a = 1"),
            (#"let a = "Date() // no comment""#, #"let a = " ""#),
            (#"let a = "a \" b" + c"#, #"let a = " " + c"#),
            (#"let a = """#, #"let a = """#),
            (#"let a = "" + b"#, #"let a = "" + b"#),
            (##"let a = #"a " \(b) "# + c"##, ##"let a = #" "# + c"##),
            (##"let a = #"a \#(b)"# + c"##, ##"let a = #" (b)"# + c"##),
            (##"let a = #"""# + c"##, ##"let a = #" "# + c"##),
            (#"let a = "\(UUID()) x \(f("y") + ")")""#, #"let a = " (UUID()) (f(" ") + " ")""#),
            ("let a = #/ \" /# + c", "let a = + c"),
            ("let a = b.matches(/\"/) // x", "let a = b.matches( )"),
            ("let a = b / c / d", "let a = b / c / d"),
            ("let a = [1, 2].reduce(1, /)", "let a = [1, 2].reduce(1, /)"),
        ])
    func blanks(_ text: String, _ expected: String) {
        #expect(code(text) == expected)
    }

    @Test("A multi-line string is blanked to its end, quotes and braces in it included")
    func multiLineStrings() {
        let text = """
            let a = \"""
                { "one" \\(two) "" \\\"""
                }
                \""" + b
            """
        #expect(code(text) == "let a = \"\"\"\n(two)\n\n\"\"\" + b")
    }

    @Test("Lines and columns keep their places, beyond ASCII too")
    func columnsStay() {
        let source = SwiftSource(path: "Sample.swift", text: "let 价 = \"学点\" // 学点\nlet b = 2\n")
        #expect(Array(source.lines) == ["let 价 = \"学点\" // 学点", "let b = 2"])
        #expect(source.code[0].hasPrefix("let 价 = \"      \""))
        #expect(source.code[0].utf8.count == source.lines[0].utf8.count)
        #expect(source.comments[0].hasSuffix("// 学点"))
        #expect(source.code[1] == "let b = 2")
    }

    @Test("Words and signs become tokens with their lines")
    func tokens() {
        let source = SwiftSource(path: "Sample.swift", text: "func a_1() {\n  b.c\n}")
        #expect(source.tokens.map(\.text) == ["func", "a_1", "(", ")", "{", "b", ".", "c", "}"])
        #expect(source.tokens.map(\.line) == [1, 1, 1, 1, 1, 2, 2, 2, 3])
    }
}
