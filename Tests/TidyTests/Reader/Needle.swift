/// A piece of code to look for, word by word and sign by sign: `Task {` is found in `Task{`, `Date()` is not in
/// `CivilDate()`.
struct Needle: Sendable {
    let text: String
    let words: [String]

    init(_ text: String) {
        self.text = text
        words = Layer(Array(text.utf8)).tokens.map(\.text)
    }

    /// Where each of the needles begins in the tokens, in one pass over them.
    static func places(of needles: [Needle], in tokens: [Token]) -> [(needle: Needle, index: Int)] {
        let byFirst = Dictionary(grouping: needles) { $0.words[0] }
        var places: [(needle: Needle, index: Int)] = []
        for (index, token) in tokens.enumerated() {
            for needle in byFirst[token.text] ?? [] where index + needle.words.count <= tokens.count {
                let isThere = needle.words.indices.allSatisfy { tokens[index + $0].text == needle.words[$0] }
                if isThere { places.append((needle, index)) }
            }
        }
        return places
    }
}
