import TillBilling

/// The text of `till --help` and `till COMMAND --help`.
struct Help: Sendable {
    let language: Language

    func overview(of commands: [Command]) -> String {
        var lines = [
            LocalizedText(
                en: "till: a self-hosted purchase backend and an emulated App Store",
                zh: "till：自托管的内购后端与模拟 App Store")(language),
            "",
            heading(en: "Usage", zh: "用法"),
            "  till \(LocalizedText(en: "COMMAND", zh: "命令")(language)) …",
            "",
            heading(en: "Commands", zh: "命令"),
        ]
        lines += table(commands.map { ($0.name, $0.summary(language)) })
        lines += ["", heading(en: "Flags", zh: "选项")]
        lines += table((Flag.common + [.version]).map { ($0.usage, $0.summary(language)) })
        lines += [
            "",
            LocalizedText(
                en: "Run `till COMMAND --help` for details. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.",
                zh: "运行“till 命令 --help”查看详细说明。退出码：0 完成，1 被拒绝或失败，2 用法错误。")(language),
        ]
        return lines.joined(separator: "\n")
    }

    func page(of command: Command) -> String {
        let words = ["till", command.name] + command.positionals.map(\.usage) + command.flags.map { "[\($0.usage)]" }
        var lines = ["till \(command.name): \(command.summary(language))", "", heading(en: "Usage", zh: "用法")]
        lines += wrapped(words)
        if !command.positionals.isEmpty {
            lines += ["", heading(en: "Arguments", zh: "参数")]
            lines += table(command.positionals.map { ($0.name, $0.summary(language)) })
        }
        let flags = command.flags + Flag.common
        lines += ["", heading(en: "Flags", zh: "选项")]
        lines += table(
            flags.map { flag in
                let repeats = flag.isRepeatable ? LocalizedText(en: " (may be repeated)", zh: "（可重复）")(language) : ""
                return (flag.usage, flag.summary(language) + repeats)
            })
        let discussion = command.discussion(language)
        if !discussion.isEmpty { lines += ["", discussion] }
        return lines.joined(separator: "\n")
    }

    private func heading(en: String, zh: String) -> String {
        LocalizedText(en: en + ":", zh: zh + "：")(language)
    }

    private func table(_ rows: [(String, String)]) -> [String] {
        // The summary of a name longer than the column is on its own line.
        let width = min(rows.map(\.0.count).max() ?? 0, 28)
        var lines: [String] = []
        for (name, summary) in rows {
            if name.count > width {
                lines.append("  " + name)
                lines.append(String(repeating: " ", count: width + 4) + summary)
            } else {
                lines.append("  " + name + String(repeating: " ", count: width - name.count + 2) + summary)
            }
        }
        return lines
    }

    private func wrapped(_ words: [String]) -> [String] {
        var lines: [String] = []
        var line = " "
        for word in words {
            if line.count + word.count + 1 > 78 {
                lines.append(line)
                line = "     "
            }
            line += " " + word
        }
        return lines + [line]
    }
}
