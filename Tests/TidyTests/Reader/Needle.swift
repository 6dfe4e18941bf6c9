/// A piece of code to search for, word by word and sign by sign: `Task {` is found in `Task{`, `Date()` is not in
/// `CivilDate()`, and `try!` is not in `try !isEmpty()`.
struct Needle: Sendable {
    let text: String
    private let tokens: [Token]

    init(_ text: String) {
        self.text = text
        tokens = Layer(Array(text.utf8)).tokens
    }

    /// In tokens.
    var count: Int { tokens.count }

    /// The places where each of the needles begins in the tokens, in one pass over them.
    static func places(of needles: [Needle], in tokens: [Token]) -> [(needle: Needle, index: Int)] {
        let byFirst = Dictionary(grouping: needles) { $0.tokens[0].text }
        var places: [(needle: Needle, index: Int)] = []
        for (index, token) in tokens.enumerated() {
            for needle in byFirst[token.text] ?? [] where needle.matches(tokens, at: index) {
                places.append((needle, index))
            }
        }
        return places
    }

    private func matches(_ others: [Token], at start: Int) -> Bool {
        guard start + count <= others.count else { return false }
        return tokens.indices.allSatisfy { index in
            let other = others[start + index]
            let isAsClose = index == 0 || other.isJoined || !tokens[index].isJoined
            return other.text == tokens[index].text && isAsClose
        }
    }
}
