import CTillProgram
import Testing
import TillBilling
import TillJSON

@testable import till

@Suite("The command line")
struct CommandLineTests {
    private static let root = Flag("root", .text("CERT"), repeatable: true, summary: LocalizedText("root"))
    private static let port = Flag("port", .integer("N", 0...65_535), summary: LocalizedText("port"))
    private static let bundle = Flag("bundle-id", .text("ID"), summary: LocalizedText("bundle"))
    private static let mode = Flag("mode", .choice(["production", "sandbox"]), summary: LocalizedText("mode"))
    private static let once = Flag("once", summary: LocalizedText("once"))

    /// A command that prints its arguments.
    private static let echo = Command(
        "echo", summary: LocalizedText(en: "repeat", zh: "复述"), flags: [root, port, bundle, mode, once],
        positionals: [
            Positional("FILE", summary: LocalizedText("file")),
            Positional("DIR", .optional, summary: LocalizedText("dir")),
        ]
    ) { call in
        let port = call.integer(Self.port).map(String.init) ?? "-"
        call.console.print(
            "\(call.positionals) roots=\(call.texts(root)) port=\(port) bundle=\(call.text(bundle) ?? "-") "
                + "mode=\(call.text(mode) ?? "-") once=\(call.isSet(once)) json=\(call.wantsJSON) "
                + call.language.rawValue)
        return .done
    }
    private static let refuse = Command("refuse", summary: LocalizedText(en: "refuse", zh: "拒绝")) { _ in
        throw CommandError(LocalizedText(en: "it is raining", zh: "下雨了"))
    }

    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(
            commands: [Self.echo, Self.refuse], process: recorder.process(environment: environment))
        let code = await program.run(arguments)
        return (code, recorder.out, recorder.error)
    }

    @Test("the help of till apple sends its reader to the list of queries where it is")
    func appleHelp() async throws {
        for (language, place, example) in [("en", "list below", "transaction"), ("zh", "下面的列表", "transaction")] {
            let recorder = Recorder()
            let program = Program(commands: [.apple], process: recorder.process())
            #expect(await program.run(["apple", "--help", "--lang", language]) == .done)
            let help = recorder.out
            let pointer = try #require(help.range(of: place))
            let list = try #require(help.range(of: "\n  \(example)") ?? help.range(of: "\n\(example)"))
            #expect(pointer.lowerBound < list.lowerBound, "\(help)")
        }
    }

    @Test("flags take their value after a space or an equals sign, may repeat where allowed, and mix with positionals")
    func flags() async {
        let result = await run([
            "echo", "--root", "a", "f.jws", "--root=b=c", "--port=0", "--mode", "sandbox", "--once", "--json", "out",
        ])
        #expect(result.code == .done)
        #expect(
            result.out
                == "[\"f.jws\", \"out\"] roots=[\"a\", \"b=c\"] port=0 bundle=- mode=sandbox once=true json=true en\n")
        #expect(result.error.isEmpty)
    }

    @Test("after -- everything is positional, and a single - is positional too")
    func endOfFlags() async {
        #expect(await run(["echo", "--", "--root"]).out.hasPrefix("[\"--root\"] roots=[]"))
        #expect(await run(["echo", "-"]).out.hasPrefix("[\"-\"] "))
    }

    @Test("common flags may stand before the command")
    func flagsBeforeTheCommand() async {
        let result = await run(["--lang", "zh", "--json", "echo", "f"])
        #expect(result.out.hasSuffix("json=true zh\n"))
    }

    @Test("--help prints a page on stdout and exits 0, for till and for each command, in both languages")
    func help() async {
        for arguments in [["--help"], ["-h"], ["help"]] {
            let result = await run(arguments)
            #expect(result.code == .done && result.error.isEmpty)
            #expect(
                result.out.contains("Commands:") && result.out.contains("echo") && result.out.contains("--lang en|zh"))
        }
        for arguments in [["echo", "--help"], ["echo", "f", "-h"], ["help", "echo"]] {
            let result = await run(arguments)
            #expect(result.code == .done && result.error.isEmpty)
            #expect(result.out.contains("till echo FILE [DIR]") && result.out.contains("--mode production|sandbox"))
        }
        #expect(await run(["--lang=zh", "--help"]).out.contains("命令："))
        #expect(await run(["echo", "--help", "--lang", "zh"]).out.contains("复述"))
    }

    @Test("--version names the version, the commit and the build, or says that it is a development build")
    func version() async throws {
        #expect(await run(["--version"]).out == BuildIdentity.current.text + "\n")
        let json = try JSONValue(decoding: Array(await run(["--version", "--json"]).out.utf8))
        #expect(json == BuildIdentity.current.json && json["version"]?.string == Program.version)
        let commit = "0123456789abcdef0123456789abcdef01234567"
        let packaged = BuildIdentity(commit: commit, build: "9.8.7~git20260102030405.0123456789ab")
        #expect(packaged.text.hasSuffix("(commit 0123456789ab, build 9.8.7~git20260102030405.0123456789ab)"))
        #expect(packaged.json["commit"]?.string == commit && packaged.json["build"]?.string == packaged.name)
        let plain = BuildIdentity(commit: "", build: "")
        #expect(plain.text == "till \(Program.version) (development build)" && plain.name == Program.version)
        #expect(plain.json["commit"] == .null && plain.json["build"] == .null)
    }

    #if os(Linux)
        @Test("Code that is unmapped no longer counts as resident, and is mapped again when it runs")
        func unmappedCode() async throws {
            func mappedKilobytes() throws -> Int {
                let status = String(decoding: try readFile("/proc/self/status", limit: 1 << 16), as: UTF8.self)
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
                return try #require(Int(line.filter(\.isNumber)))
            }
            let before = try mappedKilobytes()
            till_unmap_code()
            #expect(try mappedKilobytes() < before)
            #expect(await run(["--lang=zh", "--help"]).out.contains("命令："))
        }
    #endif

    @Test(
        "wrong usage exits 2 and says on stderr what is wrong and what was probably meant",
        arguments: [
            ([], "no command given"),
            (["ehco", "f"], "there is no command \"ehco\". Did you mean till echo?"),
            (["zzzzzz"], "there is no command \"zzzzzz\"\n"),
            (["echo"], "FILE is missing"),
            (["echo", "a", "b", "c"], "unexpected argument \"c\""),
            (["echo", "f", "--rot", "x"], "there is no flag --rot. Did you mean --root?"),
            (["echo", "f", "--bundleId=x"], "there is no flag --bundleId. Did you mean --bundle-id?"),
            (["echo", "f", "--bundle", "x"], "there is no flag --bundle. Did you mean --bundle-id?"),
            (["echo", "f", "-once"], "there is no flag -once. Did you mean --once?"),
            (["echo", "f", "--zzzzzzz"], "there is no flag --zzzzzzz\n"),
            (["--jsn"], "there is no flag --jsn. Did you mean --json?"),
            (["echo", "f", "--root"], "--root needs a value: --root CERT"),
            (["echo", "f", "--root", "--once"], "--root needs a value"),
            (["echo", "f", "--root="], "--root needs a value"),
            (["echo", "f", "--once=1"], "--once takes no value"),
            (["echo", "f", "--port", "1", "--port", "2"], "--port is given twice"),
            (["echo", "f", "--port", "65536"], "--port must be a whole number from 0 to 65535, not \"65536\""),
            (["echo", "f", "--port", "-1"], "not \"-1\""),
            (["echo", "f", "--port", "12x"], "not \"12x\""),
            (
                ["echo", "f", "--mode", "sandbx"],
                "--mode must be production or sandbox, not \"sandbx\". Did you mean sandbox?"
            ),
            (["--lang", "de", "echo", "f"], "--lang must be en or zh, not \"de\""),
            (["help", "ecko"], "Did you mean till echo?"),
        ])
    func wrongUsage(arguments: [String], expected: String) async {
        let result = await run(arguments)
        #expect(result.code == .wrongUsage)
        #expect(result.out.isEmpty)
        #expect(result.error.hasPrefix("till: "))
        #expect(result.error.contains(expected))
        #expect(result.error.contains("--help`."))
    }

    @Test("wrong usage is reported in Chinese if the flag or the locale asks for it, even if the rest is invalid")
    func wrongUsageInChinese() async {
        #expect(await run(["ehco", "--lang", "zh"]).error.contains("没有命令“ehco”。是否想写 till echo？"))
        let chinese = ["LANG": "zh_CN.UTF-8"]
        #expect(await run(["echo", "f", "--rot"], environment: chinese).error.contains("是否想写 --root？"))
        #expect(await run(["--lang=en", "ehco"], environment: chinese).error.contains("there is no command"))
    }

    @Test(
        "the first locale variable that isn't empty decides",
        arguments: [
            ([:], Language.english),
            (["LANG": "zh_TW.UTF-8"], .chinese),
            (["LANG": "zh_CN", "LC_ALL": "C.UTF-8"], .english),
            (["LANG": "en_US", "LC_MESSAGES": "zh_CN"], .chinese),
            (["LANG": "zh_CN", "LC_ALL": ""], .chinese),
            (["LANG": "de_DE"], .english),
        ])
    func locale(environment: [String: String], expected: Language) {
        #expect(Language(environment: environment) == expected)
    }

    @Test("a refusal exits 1 with its reason on stderr and nothing on stdout")
    func refusal() async {
        let result = await run(["refuse"])
        #expect(result.code == .refused && result.out.isEmpty && result.error == "till: it is raining\n")
        #expect(await run(["refuse", "--lang", "zh"]).error == "till: 下雨了\n")
    }

    @Test("external text can't send control characters to the terminal, and long text is cut")
    func hostileArguments() async {
        let error = await run(["\u{1B}[31mred\u{7}\u{202E}"]).error
        #expect(error.contains("\\u{1b}[31mred\\u{7}\\u{202e}") && !error.contains("\u{1B}"))
        #expect(await run([String(repeating: "x", count: 100_000)]).error.utf8.count < 300)
    }

    @Test(
        "the nearest name is found for typing errors, not for other words",
        arguments: [
            ("serv", "serve"), ("sevre", "serve"), ("SERVE", "serve"), ("verfy", "verify"), ("init-", "init"),
            ("bundle_id", "bundleId"), ("listn", "listen"), ("env", nil), ("", nil), ("x", nil), ("quux", nil),
        ] as [(String, String?)])
    func nearest(typed: String, expected: String?) {
        #expect(nearestName(to: typed, among: ["serve", "verify", "init", "bundleId", "listen"]) == expected)
    }

    @Test("every real command and flag has texts in both languages and a unique name")
    func commandsAreComplete() {
        #expect(Set(Command.all.map(\.name)).count == Command.all.count)
        for command in Command.all {
            let flags = command.flags + Flag.common
            #expect(Set(flags.map(\.name)).count == flags.count, "\(command.name)")
            for text in [command.summary] + flags.map(\.summary) + command.positionals.map(\.summary) {
                #expect(!text.en.isEmpty && text.en != text.zh, "\(command.name): \(text.en)")
            }
        }
    }
}
