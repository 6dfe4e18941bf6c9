import TillBilling
import TillJSON

extension JSONMistake {
    /// What is wrong with the text, and where, as the end of a sentence that begins with its name.
    public var sentence: LocalizedText {
        let what = self.what
        return LocalizedText(
            en: "\(what.en) (line \(line), column \(column))", zh: "\(what.zh)（第 \(line) 行第 \(column) 列）")
    }

    private var what: LocalizedText {
        switch error {
        case .invalidUTF8: LocalizedText(en: "is not UTF-8 text", zh: "不是 UTF-8 文本")
        case .tooDeep: LocalizedText(en: "is nested too deeply", zh: "嵌套得太深")
        case .trailing: LocalizedText(en: "has content after its JSON value", zh: "JSON 值后面还有别的内容")
        case .tooManyMarks:
            LocalizedText(en: "has a text with too many combining marks in a row", zh: "有一段文字含有过多连续的组合符号")
        case .duplicateKey: LocalizedText(en: "repeats a key in one object", zh: "同一个对象里有重复的键")
        case .unexpected, .wrongType: LocalizedText(en: "is not valid JSON", zh: "不是合法的 JSON")
        }
    }
}
