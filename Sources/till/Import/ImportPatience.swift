import TillAPI
import TillBilling

/// How an import waits for Apple's answers, in milliseconds.
struct ImportPatience {
    /// The pause before the first repetition; it doubles.
    var first: Int64 = 5_000
    var longest: Int64 = 60_000
    /// Without any answer for so long, the import ends, and the next one of the file goes on.
    var limit: Int64 = 1_800_000

    static func sentence(_ count: Int, _ why: LocalizedText?, _ pause: Int64) -> LocalizedText {
        LocalizedText(
            en: "Apple has not answered about \(count) rows, which are asked about again in \(pause / 1_000) s. "
                + (why?.en ?? ""),
            zh: "Apple 尚未回答 \(count) 行，\(pause / 1_000) 秒后再次查询。\(why?.zh ?? "")")
    }

    static func ended(_ why: LocalizedText?) -> CommandError {
        CommandError(
            LocalizedText(
                en: "Apple does not answer, so the rest of the file is not imported. Import the file again to go on. "
                    + (why?.en ?? ""),
                zh: "Apple 没有回答，因此文件其余的行没有导入。请再次导入此文件以继续。\(why?.zh ?? "")"))
    }
}

extension ImportOutcomeReply {
    var isWaiting: Bool { outcome == "waiting" }
}
